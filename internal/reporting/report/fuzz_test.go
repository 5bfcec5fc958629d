package report

import (
	"bytes"
	"testing"
)

// FuzzRead holds the reader of results, and the writers of what it has read, to reasons for what they refuse.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", `{"rows":[]}`, `{"rows":[{}]}`, `{"apiVersion":"nodrop.dev/v1alpha1","kind":"BenchmarkReport","rows":[{"test":"t","method":"Throughput","frames":{"sent":1}}]}`, "a: [", `{"rows":[{"latency":{"avgNs":-1}}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Read(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("a failure without a reason")
			}
			return
		}
		for _, format := range []Format{FormatJSON, FormatTable, FormatCSV, FormatMarkdown} {
			var out bytes.Buffer
			if err := d.Write(&out, format); err != nil && err.Error() == "" {
				t.Errorf("%s: a failure without a reason", format)
			}
		}
	})
}
