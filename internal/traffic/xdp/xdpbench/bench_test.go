package xdpbench

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// One short round measures every case, and no figure is missing.
func TestBench(t *testing.T) {
	longtest.Skip(t, "the tests of the engine")
	if os.Geteuid() != 0 {
		t.Skip("skipped: needs root, to make network namespaces and load BPF programs")
	}
	r, err := Run(t.Context(), Options{Trial: 100 * time.Millisecond, Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.Rates {
		// What the receiver of a case without the engine got is not known.
		if c.Case != cases[i].name || c.Sent == 0 || (c.Received == 0) != (cases[i].counted && cases[i].bare == nil) {
			t.Errorf("%+v", c)
		}
	}
	for _, s := range r.Spaces {
		if s.Sent == 0 || s.Sent > 1 || s.MaxClump == 0 || s.MaxClump > 16 || s.SpacingError == 0 {
			t.Errorf("%+v", s)
		}
	}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil || len(r.Rates) != len(cases) || strings.Count(b.String(), "%") < 4 {
		t.Errorf("%v\n%s", err, b.String())
	}
	t.Logf("\n%s", b.String())
}
