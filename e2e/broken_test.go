//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// TestBrokenManifests applies every manifest of config/samples/broken: all are
// refused with the message that their first lines promise. With -short it applies every eighth: TestAdmission of internal/manifests/admission has all.
func TestBrokenManifests(t *testing.T) {
	l := newLab(t)
	l.apply(t, "config", "samples", "broken", "given")
	files, err := filepath.Glob(l.path("config", "samples", "broken", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found %d broken manifests, want at least 10", len(files))
	}
	for i, file := range files {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			wants := kubetest.Expectations(t, file)
			out, err := l.kubectl(t, "", "apply", "-f", file)
			if err == nil {
				t.Fatalf("accepted:\n%s", out)
			}
			for _, want := range wants {
				if !strings.Contains(out, want) {
					t.Errorf("message lacks %q:\n%s", want, out)
				}
			}
		})
	}
}
