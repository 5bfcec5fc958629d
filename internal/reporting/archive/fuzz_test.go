package archive

import (
	"strings"
	"testing"
)

// FuzzLocation holds a location to being read again as it is shown.
func FuzzLocation(f *testing.F) {
	for _, seed := range []string{"", "a.json", "file:///var/lib/nodrop", "s3://lab/results?endpoint=https://minio.example.com:9000&region=lab-1", "s3://lab?endpoint=%25zz", "s3://u:p@lab/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseLocation(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("a failure without a reason")
			}
			return
		}
		shown := l.String()
		again, err := parseLocation(shown)
		if err != nil || again.String() != shown {
			t.Errorf("%q is shown as %q, which is read as %q, %v", text, shown, again, err)
		}
		if strings.Contains(l.join("x.json").String(), "..") && !strings.Contains(text, "..") {
			t.Errorf("%q leads out of the archive", l.join("x.json"))
		}
		_ = CheckEndpoint(text)
	})
}
