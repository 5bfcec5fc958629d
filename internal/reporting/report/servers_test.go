package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Rows of an incast are named by their numbers of servers in the table, in JUnit and in CSV.
func TestRowsNameTheirServers(t *testing.T) {
	t.Parallel()
	d := &Document{Phase: v1alpha1.PhaseMeasured}
	for _, n := range []int32{1, 8} {
		d.Rows = append(d.Rows, v1alpha1.ResultRow{
			RowID: v1alpha1.RowID{Test: "incast", Method: v1alpha1.MethodIncast, Servers: n}, Validity: v1alpha1.ValidityVirtual, Message: "reno",
			Incast: &v1alpha1.IncastSummary{GoodputBitsPerSecond: 476_050_000 / int64(n), Retransmissions: 7, Timeouts: 3, Completion: v1alpha1.CompletionTimes{AvgNs: 6_800_000}},
		})
	}
	for format, wants := range map[Format][]string{
		FormatTable: {"servers", "476.1", "6.800", "        8     59.5"},
		FormatJUnit: {`"1 server"`, `"8 servers"`},
		FormatCSV:   {",servers,", "incast_goodput_bits_per_second", ",59506250,"},
	} {
		got := written(t, d, format)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s has no %q:\n%s", format, want, got)
			}
		}
	}
	if line := RowLine(d.Rows[1]); !strings.HasPrefix(line, "incast with 8 servers: goodput 59.5 Mbit/s") {
		t.Error(line)
	}
}
