package archive_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/report"
)

// putRuns puts results of one history with these UIDs.
func putRuns(t *testing.T, where string, uids ...string) {
	t.Helper()
	store := open(t, where)
	for _, uid := range uids {
		d := document(3)
		d.Benchmark.UID = uid
		put(t, store, d)
	}
}

// TestEachOf passes the readable results of a history, and names the others.
func TestEachOf(t *testing.T) {
	dir := t.TempDir()
	putRuns(t, dir, "1", "2", "3", "4")
	file := func(name string) string { return filepath.Join(dir, "team-routing", "router", name) }
	write := func(name, text string) {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("2.json.zst", "damaged") // with its figures, by which it is read
	write("3.json.zst", "damaged")
	write("3.json.zst.figures", "damaged")
	if err := os.Remove(file("4.json.zst.figures")); err != nil { // as an earlier version has written it
		t.Fatal(err)
	}
	write("5.json.zst", `{"schema": "of another program"}`)
	var got []string
	unreadable, err := open(t, dir).EachOf(t.Context(), "team-routing", "router", 10, func(d *report.Document) error {
		if len(d.Rows) != 3 {
			t.Errorf("%s has %d rows", d.Benchmark.UID, len(d.Rows))
		}
		got = append(got, d.Benchmark.UID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(got); !slices.Equal(got, []string{"1", "2", "4"}) {
		t.Errorf("read %q", got)
	}
	var names []string
	for _, u := range unreadable {
		names = append(names, u.String())
	}
	slices.Sort(names)
	if len(names) != 2 || !strings.HasPrefix(names[0], "3.json.zst: the document was changed or damaged") || !strings.HasPrefix(names[1], "5.json.zst: the schema is") {
		t.Errorf("unreadable: %q", names)
	}
}

// TestResult reads one result of a history as a whole.
func TestResult(t *testing.T) {
	dir := t.TempDir()
	putRuns(t, dir, "1", "2")
	store := open(t, dir)
	d, err := store.Result(t.Context(), "team-routing", "router", "2")
	if err != nil || d.Benchmark.UID != "2" || len(d.Rows) != 3 {
		t.Errorf("%+v: %v", d, err)
	}
	for _, uid := range []string{"3", "", "../router/1", ".."} {
		if _, err := store.Result(t.Context(), "team-routing", "router", uid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", uid, err)
		}
	}
}
