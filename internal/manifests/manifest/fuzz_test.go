package manifest

import (
	"errors"
	"testing"
)

// FuzzDocuments holds the reader of manifests to problems with a text.
func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{"", "---\n---\n", "apiVersion: nodrop.dev/v1alpha1\nkind: Benchmark\nmetadata: {name: b}\nspec: {load: 50}\n", "a: *b", "a: &a [*a]", "{{ template }}", "\ta: b", "a: 1\na: 2\n", "\xff\xfea", "a: \"b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := parseDocuments("fuzz.yaml", text)
		var invalid *InvalidError
		if err == nil || !errors.As(err, &invalid) {
			return
		}
		for _, p := range invalid.Problems {
			if p.Text == "" {
				t.Errorf("a problem without a text: %+v", p)
			}
		}
	})
}

// FuzzParseOverride holds the reader of --set to a reason.
func FuzzParseOverride(f *testing.F) {
	for _, seed := range []string{"", "spec.tests[0].throughput.resolution=1%", "a=", "=b", "a[=1", "a[-1]=1", "a..b=c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseOverride(text); err != nil && err.Error() == "" {
			t.Error("a failure without a reason")
		}
	})
}
