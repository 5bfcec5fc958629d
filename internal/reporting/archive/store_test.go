package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

const (
	namespaceUID = "6b1e3a52-4f0c-4d3b-9a53-0d7c8c1f2e10"
	key          = "team-routing/" + namespaceUID + "/router/2f1c.json.zst"
)

// routerHistory is the history of the document of the tests.
var routerHistory = history.Key{Namespace: "team-routing", NamespaceUID: namespaceUID, Name: "router"}

// document is a result with some rows.
func document(rows int) *report.Document {
	d := &report.Document{
		Schema:    report.Schema,
		Benchmark: report.Identity{Namespace: "team-routing", NamespaceUID: namespaceUID, Name: "router", UID: "2f1c"},
		Phase:     v1alpha1.PhasePassed,
		Spec:      v1alpha1.BenchmarkSpec{TestBedName: "frr"},
		Rows:      []v1alpha1.ResultRow{},
	}
	for n := range rows {
		d.Rows = append(d.Rows, v1alpha1.ResultRow{Validity: v1alpha1.ValidityValid, Message: fmt.Sprintf("row %d", n*7919)})
	}
	return d
}

// places are archives of all kinds, by a function that makes one.
var places = map[string]func(t *testing.T) string{
	"directory": func(t *testing.T) string { return "file://" + filepath.Join(t.TempDir(), "new", "archive") },
	"S3":        func(t *testing.T) string { return testserver.StartMinIO(t).URL("lab/results") },
}

func open(t *testing.T, where string) *archive.Store {
	t.Helper()
	store, err := archive.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func put(t *testing.T, store *archive.Store, d *report.Document) v1alpha1.ArchiveReference {
	t.Helper()
	ref, err := store.Put(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func TestPutAndGet(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			store := open(t, place(t))
			want := document(1000)
			ref := put(t, store, want)

			text, err := archive.Get(t.Context(), ref.URL)
			if err != nil {
				t.Fatal(err)
			}
			var plain bytes.Buffer
			if err := want.Write(&plain, report.FormatJSON); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, plain.Bytes()) {
				t.Error("what was read is not the document as JSON")
			}
			if ref.Bytes == 0 || ref.Bytes > int64(len(text))/10 {
				t.Errorf("%d bytes are stored of %d", ref.Bytes, len(text))
			}

			if again := put(t, store, want); again.SHA256 != ref.SHA256 || again.URL != ref.URL || again.Bytes != ref.Bytes {
				t.Errorf("written again: %+v, first %+v", again, ref)
			}

			_, err = store.Put(t.Context(), document(999))
			var different *archive.DifferentError
			if !errors.As(err, &different) {
				t.Fatalf("another document under the same key: %v", err)
			}
			if different.Existing.SHA256 != ref.SHA256 || different.SHA256 == ref.SHA256 || !strings.Contains(err.Error(), different.SHA256) {
				t.Errorf("the error does not name both digests: %v", err)
			}
			if kept, err := archive.Get(t.Context(), ref.URL); err != nil || !bytes.Equal(kept, text) {
				t.Errorf("the first document was changed: %v", err)
			}

			if _, err := archive.Get(t.Context(), strings.Replace(ref.URL, "2f1c", "absent", 1)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a document that is not there: %v", err)
			}
		})
	}
}

// Labels and annotations can change between an attempt that was interrupted and the next:
// the document that is there remains.
func TestRelabelledAfterTheEnd(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			store := open(t, place(t))
			first := document(3)
			first.Benchmark.Labels = map[string]string{"release": "1"}
			ref := put(t, store, first)
			for _, labels := range []map[string]string{{"release": "2"}, nil} {
				again := document(3)
				again.Benchmark.Labels, again.Benchmark.Annotations = labels, map[string]string{"example.com/synced": "yes"}
				if got := put(t, store, again); got.SHA256 != ref.SHA256 || again.Benchmark.Annotations == nil {
					t.Errorf("%v: written again as %+v, first %+v", labels, got, ref)
				}
			}
			other := document(2)
			var different *archive.DifferentError
			if _, err := store.Put(t.Context(), other); !errors.As(err, &different) {
				t.Errorf("another result: %v", err)
			}
		})
	}
}

// TestOnce counts what the server was sent: every object has one version, however
// often a result is written.
func TestOnce(t *testing.T) {
	server := testserver.StartMinIO(t)
	store := open(t, server.URL("lab/results"))
	for range 3 {
		put(t, store, document(3))
	}
	// An operator that died between document and digest.
	server.Remove("lab/results/" + key + ".sha256")
	put(t, open(t, server.URL("lab/results")), document(3))
	got := server.Versions()
	if len(got) != 3 || got["lab/results/"+key] != 1 || got["lab/results/"+key+".figures"] != 1 || got["lab/results/"+key+".sha256"] != 2 {
		t.Errorf("versions: %v", got)
	}
}

// TestDirectory checks what other programs find in an archive in a directory.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	store := open(t, dir)
	ref := put(t, store, document(3))
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, err := filepath.Rel(dir, path)
			names = append(names, name)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{key, key + ".figures", key + ".sha256"}; !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q", names, want)
	}
	check := exec.Command("sha256sum", "--check", "--strict", filepath.Base(key)+".sha256")
	check.Dir = filepath.Dir(filepath.Join(dir, key))
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	if want := "file://" + filepath.Join(dir, key); ref.URL != want {
		t.Errorf("the URL is %s, want %s", ref.URL, want)
	}
	if _, err := archive.Get(t.Context(), filepath.Join(dir, key)); err != nil {
		t.Errorf("reading it by path: %v", err)
	}
}

// TestDamage changes one byte of a document.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, dir), document(3))
	file := filepath.Join(dir, key)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Get(t.Context(), file); err == nil || !strings.Contains(err.Error(), "changed or damaged") {
		t.Errorf("reading a damaged document: %v", err)
	}
}

// TestPlainFile reads a result that nodrop run has written.
func TestPlainFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := archive.Get(t.Context(), file)
	if err != nil || string(text) != "{}\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestPutRefused(t *testing.T) {
	for name, id := range map[string]report.Identity{
		"no UID":               {Namespace: "team", NamespaceUID: "0", Name: "router"},
		"no namespace UID":     {Namespace: "team", Name: "router", UID: "2f1c"},
		"a name that climbs":   {Namespace: "team", NamespaceUID: "0", Name: "..", UID: "2f1c"},
		"a name with a folder": {Namespace: "team", NamespaceUID: "0", Name: "a/b", UID: "2f1c"},
	} {
		t.Run(name, func(t *testing.T) {
			d := document(1)
			d.Benchmark = id
			if _, err := open(t, t.TempDir()).Put(t.Context(), d); err == nil {
				t.Error("it was written")
			}
		})
	}
}

// TestInterrupted breaks the connection in the middle of a document: nothing can
// be read, and the next attempt succeeds.
func TestInterrupted(t *testing.T) {
	server := testserver.StartMinIO(t)
	proxy := startProxy(t, server.Address)
	store := open(t, server.URLThrough(proxy.address, "lab"))
	d := document(20000)

	proxy.limit.Store(8 << 10)
	_, err := store.Put(t.Context(), d)
	if err == nil {
		t.Fatal("the document was written over a broken connection")
	}
	if strings.Contains(err.Error(), testserver.MinIOPassword) {
		t.Errorf("the error shows the secret: %v", err)
	}
	if got := server.Versions(); len(got) != 0 {
		t.Errorf("a part of a document can be seen: %v", got)
	}

	proxy.limit.Store(1 << 30)
	ref := put(t, store, d)
	if ref.Bytes < 8<<10 {
		t.Fatalf("the document has %d bytes, too few to break its transfer", ref.Bytes)
	}
	if got := server.Versions(); len(got) != 3 || got["lab/"+key] != 1 {
		t.Errorf("versions: %v", got)
	}
}

// TestCanceled ends the context before the document is written.
func TestCanceled(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, dir).Put(ctx, document(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "team-routing", namespaceUID, "router", "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// proxy passes connections on to a server.
type proxy struct {
	address string
	// limit is the number of bytes to the server after which a connection breaks.
	limit atomic.Int64
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String()}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go p.pass(from, server)
		}
	}()
	return p
}

func (p *proxy) pass(from net.Conn, server string) {
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(from, to) }()
	_, _ = io.CopyN(to, from, p.limit.Load())
}
