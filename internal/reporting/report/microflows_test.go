package report

import (
	"bytes"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Reports show how many microflows of a row were delivered, and the first that were not.
func TestMicroflowsOfARow(t *testing.T) {
	d := withFlows()
	d.Rows[0].Flows, d.Profile = nil, nil
	m := &v1alpha1.MicroflowsSummary{Tracked: 10_000_250, Complete: 9_990_239, Lossy: 11, Silent: 10_000, MostReceived: 7}
	for range v1alpha1.MaxBadMicroflows {
		m.Bad = append(m.Bad, v1alpha1.BadMicroflow{Sender: "p1", Receiver: "p2", Source: "198.18.1.2:10017", Destination: "198.18.2.2:9", Sent: 7})
	}
	d.Rows[0].Microflows = m
	for format, wants := range map[Format][]string{
		FormatTable: {
			"  Microflows\n", "512 B  10,000,250  9,990,239     11  10,000       0          0     7\n",
			"  Lossy and silent microflows\n", "512 B  p1    198.18.1.2:10017  p2  198.18.2.2:9     7         0\n",
		},
		FormatMarkdown: {"| 198.18.1.2:10017 |", "| 9,990,239 |"},
		FormatHTML:     {"198.18.1.2:10017", "9,990,239"},
		FormatCSV:      {"microflows_tracked,microflows_complete,microflows_lossy,microflows_silent,microflows_unsent,microflows_least_received,microflows_most_received", "10000250,9990239,11,10000,0,0,7"},
	} {
		var b bytes.Buffer
		if err := d.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s has no %q:\n%s", format, want, b.String())
			}
		}
		if n := strings.Count(b.String(), "198.18.1.2:10017"); format != FormatCSV && n != badMicroflowsShown {
			t.Errorf("%s lists %d microflows, want %d", format, n, badMicroflowsShown)
		}
	}
}
