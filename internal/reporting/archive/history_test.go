package archive_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/archive"
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
	file := func(name string) string { return filepath.Join(dir, "team-routing", namespaceUID, "router", name) }
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
	unreadable, err := open(t, dir).EachOf(t.Context(), routerHistory, 10, func(d *report.Document) error {
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
	d, err := store.Result(t.Context(), routerHistory, "2")
	if err != nil || d.Benchmark.UID != "2" || len(d.Rows) != 3 {
		t.Errorf("%+v: %v", d, err)
	}
	for _, uid := range []string{"3", "", "../router/1", ".."} {
		if _, err := store.Result(t.Context(), routerHistory, uid); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", uid, err)
		}
	}
}

// TestNamespacesOfOneName reads the results of one of two namespaces that had the same name one after the
// other, and lists both.
func TestNamespacesOfOneName(t *testing.T) {
	const successor = "f2a90c1d-7a55-4c0e-8a39-1f6f0f1d9b77"
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			where := place(t)
			store := open(t, where)
			var want []string
			for uid, namespace := range map[string]string{"1": namespaceUID, "2": successor} {
				d := document(1)
				d.Benchmark.UID, d.Benchmark.NamespaceUID = uid, namespace
				want = append(want, put(t, store, d).URL)
			}
			var got []string
			of := routerHistory
			of.NamespaceUID = successor
			unreadable, err := store.EachOf(t.Context(), of, 10, func(d *report.Document) error {
				got = append(got, d.Benchmark.UID)
				return nil
			})
			if err != nil || len(unreadable) > 0 || !slices.Equal(got, []string{"2"}) {
				t.Errorf("read %q, %v, %v, want the result of the namespace that exists", got, unreadable, err)
			}
			if _, err := store.Result(t.Context(), of, "1"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the result of the predecessor is read: %v", err)
			}
			of.NamespaceUID = ""
			if _, err := store.EachOf(t.Context(), of, 10, nil); err == nil {
				t.Error("a history without the UID of its namespace is read")
			}
			slices.Sort(want)
			all := strings.Replace(want[0], "/"+namespaceUID+"/", "/", 1)
			all, query, _ := strings.Cut(all, "?")
			all = strings.TrimSuffix(all, "/1.json.zst")
			if query != "" {
				all += "?" + query
			}
			if got, err := archive.List(t.Context(), all); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: listed %q, %v, want %q", all, got, err, want)
			}
		})
	}
}
