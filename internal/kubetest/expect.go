package kubetest

import (
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Expectations are the messages that a broken manifest expects: the rest of every line
// that begins with "# expect: ". A manifest without one fails the test.
func Expectations(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if want, ok := strings.CutPrefix(strings.TrimSpace(line), "# expect: "); ok {
			all = append(all, want)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s does not say what message it expects", file)
	}
	return all
}

// Refused fails the test unless an API server refused an object as invalid, with this text.
func Refused(t testing.TB, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("accepted, want it refused with %q", want)
	case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want):
		t.Errorf("refused with\n%v\nwant %q", err, want)
	}
}
