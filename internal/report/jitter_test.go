package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// An engine that times a share of the frames knows no jitter: nothing is told of it,
// and not that it was zero.
func TestJitterThatIsNotKnown(t *testing.T) {
	d := router()
	d.Rows = d.Rows[2:]
	for i := range d.Rows {
		d.Rows[i].Lost = 0
		d.Rows[i].Latency.JitterAvgNs, d.Rows[i].Latency.JitterMaxNs = nil, nil
	}
	for _, table := range jitterByLoad(d.Rows) {
		for _, row := range table.grid.rows {
			if strings.Join(row[1:], " ") != "- -" {
				t.Errorf("%s: %q, want dashes", table.title, row)
			}
		}
	}
	var table, document bytes.Buffer
	if err := d.Write(&document, FormatJSON); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(document.String(), "jitter") {
		t.Errorf("the document tells jitter:\n%s", &document)
	}
	if err := d.Write(&table, FormatTable); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`43\.210 +134\.567 +- +- `).MatchString(table.String()) {
		t.Errorf("the table lacks dashes after the latency:\n%s", &table)
	}
}
