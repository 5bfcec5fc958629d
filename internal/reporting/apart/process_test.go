package apart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/archive"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// child is the argument with which the test binary is the process for large results.
const child = "do-one-task"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child {
		if err := apart.Limit(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if !apart.Main(context.Background(), apart.Here{}, os.Stdin, os.Stdout, os.Stderr) {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// router is the history of the results.
var router = history.Key{Namespace: "team", NamespaceUID: "team-uid", Name: "router"}

// lab is an archive with two results, and between them a document of some KiB with a row of so
// many MiB.
func lab(t *testing.T, mebibytes int) (where string) {
	t.Helper()
	where = t.TempDir()
	store, err := archive.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for _, uid := range []string{"first", "last"} {
		if _, err := store.Put(t.Context(), result(uid)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(where, "team", "team-uid", "router", "huge.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(z, `{"schema": %q, "rows": [{"message": "`, report.Schema)
	for range mebibytes {
		_, _ = z.Write(bytes.Repeat([]byte("x"), 1<<20))
	}
	_, _ = io.WriteString(z, `"}]}`)
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return where
}

func result(uid string) *report.Document {
	return &report.Document{
		Schema: report.Schema, Phase: v1alpha1.PhaseMeasured, Benchmark: report.Identity{Namespace: "team", NamespaceUID: "team-uid", Name: "router", UID: uid},
		Rows: []v1alpha1.ResultRow{{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}, Validity: v1alpha1.ValidityValid, TrialRecords: &v1alpha1.TrialLog{ElapsedNs: 7}}},
	}
}

// TestProcess reads documents in a process of its own. One that needs more memory than the process has
// is a failure, as is one that is not there.
func TestProcess(t *testing.T) {
	where := lab(t, 400)
	p := apart.NewProcess(os.Args[0], child)
	for uid, c := range map[string]struct {
		format report.Format
		want   string
		cause  apart.Cause
	}{
		"first":  {report.FormatJSON, `"elapsedNs": 7`, ""},
		"last":   {report.FormatHTML, "<html", ""},
		"huge":   {report.FormatHTML, "", apart.CauseEnded},
		"absent": {report.FormatJSON, "", apart.CauseMissing},
		"../x":   {report.FormatJSON, "", apart.CauseMissing},
	} {
		t.Run(uid, func(t *testing.T) {
			var out bytes.Buffer
			err := p.Do(t.Context(), apart.Task{Archive: where, Document: &apart.Document{History: router, UID: uid}, Format: c.format}, &out)
			if got := apart.CauseOf(err); got != c.cause || !strings.Contains(out.String(), c.want) || (err == nil) != (c.cause == "") {
				t.Errorf("%q with the cause %q and %d bytes, want %q: %v", out.String(), got, out.Len(), c.want, err)
			}
			if missing := c.cause == apart.CauseMissing; missing != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("missing: %t: %v", missing, err)
			}
		})
	}
}

// TestHistoryWithoutFigures reads a history of documents without files of figures. The one for which
// the process ends is left out and named.
func TestHistoryWithoutFigures(t *testing.T) {
	where := lab(t, 400)
	if err := os.Remove(filepath.Join(where, "team", "team-uid", "router", "first.json.zst.figures")); err != nil {
		t.Fatal(err)
	}
	store, err := archive.Open(where)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	store.Whole = apart.Figures(apart.NewProcess(os.Args[0], child), where)
	var read []string
	unreadable, err := store.EachOf(t.Context(), router, 10, func(d *report.Document) error {
		read = append(read, fmt.Sprint(d.Benchmark.UID, " ", len(d.Rows), " ", d.Rows[0].TrialRecords == nil))
		return nil
	})
	if err != nil || len(read) != 2 || !strings.HasSuffix(read[0], " 1 true") || !strings.HasSuffix(read[1], " 1 true") {
		t.Errorf("read %q: %v", read, err)
	}
	if len(unreadable) != 1 || unreadable[0].Name != "huge.json.zst" || !strings.Contains(unreadable[0].Reason, "MiB of memory, ended") {
		t.Errorf("%v, want the document that is huge", unreadable)
	}
}

// TestOneAtATime lets a task wait for its place no longer than its context, and ends the process of one
// that nothing waits for.
func TestOneAtATime(t *testing.T) {
	p := apart.NewProcess("sleep", "600")
	first, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		close(started)
		ended <- p.Do(first, apart.Task{}, io.Discard)
	}()
	<-started
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Do(late, apart.Task{}, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("the second task: %v", err)
	}
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the first task: %v", err)
	}
}
