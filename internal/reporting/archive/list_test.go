package archive_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

func TestList(t *testing.T) {
	for name, place := range map[string]func(*testing.T) string{
		"directory":        places["directory"],
		"S3 with a prefix": places["S3"],
		"S3 without one":   func(t *testing.T) string { return testserver.StartMinIO(t).URL("lab") },
		"a path with spaces": func(t *testing.T) string {
			return "file://" + strings.ReplaceAll(filepath.Join(t.TempDir(), "my archive"), " ", "%20")
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t, place(t))
			var want []string
			for _, uid := range []string{"2f1c", "0a77"} {
				d := document(3)
				d.Benchmark.UID = uid
				want = append(want, put(t, store, d).URL)
			}
			other := document(1)
			other.Benchmark.Name = "router-2"
			put(t, store, other)
			slices.Sort(want)

			folder, err := archive.Folder(want[0])
			if err != nil {
				t.Fatal(err)
			}
			got, err := archive.List(t.Context(), folder)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("listed %q, %v, want %q", got, err, want)
			}
			for _, url := range got {
				if _, err := archive.Get(t.Context(), url); err != nil {
					t.Error(err)
				}
			}
			absent := strings.Replace(folder, "team-routing", "team-absent", 1)
			if got, err := archive.List(t.Context(), absent); err != nil || len(got) > 0 {
				t.Errorf("a folder that is not there: %q, %v", got, err)
			}
		})
	}
	if _, err := archive.List(t.Context(), "https://example.com/x"); err == nil {
		t.Error("a URL of another scheme is listed")
	}
}

// Listing makes no directory, as writing does.
func TestListMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	if _, err := archive.List(t.Context(), "file://"+dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory was made")
	}
}
