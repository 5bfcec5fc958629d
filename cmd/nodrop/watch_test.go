//go:build !standalone

package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// benchmark makes a benchmark with a status.
func (c *apiServer) benchmark(name string, change func(*v1alpha1.BenchmarkStatus)) {
	c.t.Helper()
	b := objects.Benchmark("default", name, objects.BedName("bed"), objects.ProfileName("pairs"), objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{})))
	// The Go zero of a duration is not the absence of it, so the defaults are written out.
	if err := json.Unmarshal([]byte(`{"settleTime":"2s","restTime":"5s"}`), &b.Spec); err != nil {
		c.t.Fatal(err)
	}
	b.Spec.Tests[0].Throughput.TrialDuration.Duration = 60e9
	b.Spec.Tests[0].Throughput.SearchTrialDuration.Duration = 10e9
	if err := c.client.Create(context.Background(), b); err != nil {
		c.t.Fatal(err)
	}
	if change != nil {
		c.status(name, change)
	}
}

func (c *apiServer) status(name string, change func(*v1alpha1.BenchmarkStatus)) {
	c.t.Helper()
	var b v1alpha1.Benchmark
	if err := c.client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, &b); err != nil {
		c.t.Fatal(err)
	}
	change(&b.Status)
	if err := c.client.Status().Update(context.Background(), &b); err != nil {
		c.t.Fatal(err)
	}
}

// store stores rows of a benchmark, as the operator does.
func (c *apiServer) store(name string, rows ...v1alpha1.ResultRow) {
	c.t.Helper()
	var b v1alpha1.Benchmark
	if err := c.client.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, &b); err != nil {
		c.t.Fatal(err)
	}
	part := stored.NewPart(&b, 1, rows[0].Test, rows[0].Variant)
	part.Spec.Rows = rows
	if err := c.client.Create(context.Background(), part); err != nil {
		c.t.Fatal(err)
	}
	c.status(name, func(s *v1alpha1.BenchmarkStatus) {
		s.Results = &v1alpha1.ResultSummary{Rows: int32(len(rows)), Parts: 1}
	})
}

func (c *apiServer) nodrop(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, append(args, "--kubeconfig", c.kubeconfig)...)
}

func inPhase(phase v1alpha1.BenchmarkPhase, message string) func(*v1alpha1.BenchmarkStatus) {
	return func(s *v1alpha1.BenchmarkStatus) { s.Phase, s.Message = phase, message }
}

var oneRow = []v1alpha1.ResultRow{{
	RowID:  v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64},
	Frames: &v1alpha1.FrameSection{LineRatePPM: 696875, FramesPerSecond: 26547619822, OfferedFramesPerSecond: 26547619822, BitsPerSecond: 26547619822 * 512}, Validity: v1alpha1.ValidityValid,
}}

func TestWatchAndReport(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	t.Run("follows over a broken connection", func(t *testing.T) { followsOverABrokenConnection(t, c) })
	t.Run("finished", func(t *testing.T) { watchesWhatHasFinished(t, c) })
	t.Run("exit codes", func(t *testing.T) { exitCodes(t, c) })
	t.Run("stops watching", func(t *testing.T) { stopsWatching(t, c) })
	t.Run("deleted", func(t *testing.T) { deletedWhileWatched(t, c) })
	t.Run("not found", func(t *testing.T) { notFound(t, c) })
	t.Run("report", func(t *testing.T) { reports(t, c) })
	t.Run("compare", func(t *testing.T) { compares(t, c) })
}

func followsOverABrokenConnection(t *testing.T, c *apiServer) {
	c.benchmark("followed", nil)
	p := c.nodrop(t, "watch", "followed")
	p.says("Pending")
	c.status("followed", func(s *v1alpha1.BenchmarkStatus) {
		s.Phase = v1alpha1.PhaseQueued
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBedLeased, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonQueued, Message: "2 benchmarks come first on bed", LastTransitionTime: metav1.Now()}}
	})
	p.says("Queued: 2 benchmarks come first on bed")
	c.line.cut()
	c.status("followed", func(s *v1alpha1.BenchmarkStatus) {
		s.Phase, s.Message = v1alpha1.PhaseRunning, ""
		s.Progress = &v1alpha1.Progress{Summary: "1/2 rows, 50%, 1m left", Trial: "throughput 128 B: 62.5% for 10s", RowsDone: 1, RowsTotal: 2}
	})
	c.store("followed", oneRow...)
	p.says("the connection to the cluster is lost")
	c.line.join()
	p.says("throughput 64 B: 26,547,619,822 frames/s, 13.592 Tbit/s, 69.6875% of line rate, Valid")
	p.says("Running: 1/2 rows, 50%, 1m left")
	c.status("followed", func(s *v1alpha1.BenchmarkStatus) { s.Progress.Trial = "throughput 128 B: 75% for 10s" })
	p.says("Running: 1/2 rows, 50%, 1m left: throughput 128 B: 75% for 10s")
	c.status("followed", inPhase(v1alpha1.PhaseCleaningUp, "removing 3 pods"))
	p.says("CleaningUp: removing 3 pods")
	c.status("followed", inPhase(v1alpha1.PhasePassed, "all rows were measured"))
	p.wants(exit.Passed, "13.592    69.6875", "Passed: all rows were measured")
	if rows := strings.Count(p.stderr.String(), "69.6875% of line rate"); rows != 1 {
		t.Errorf("the row was shown %d times", rows)
	}
}

func exitCodes(t *testing.T, c *apiServer) {
	for phase, code := range map[v1alpha1.BenchmarkPhase]int{
		v1alpha1.PhasePassed: exit.Passed, v1alpha1.PhaseFailed: exit.Failed, v1alpha1.PhaseInvalid: exit.Invalid,
		v1alpha1.PhaseAborted: exit.Aborted, v1alpha1.PhaseError: exit.Error, v1alpha1.PhaseInconclusive: exit.Inconclusive,
	} {
		name := "ended-" + strings.ToLower(string(phase))
		c.benchmark(name, inPhase(phase, "because"))
		p := c.nodrop(t, "watch", name)
		p.wants(code, "Benchmark default/"+name+": "+string(phase)+"\n  because", "")
	}
}

func stopsWatching(t *testing.T, c *apiServer) {
	c.benchmark("slow", inPhase(v1alpha1.PhaseQueued, "waiting"))
	p := c.nodrop(t, "watch", "slow", "--timeout", "1s")
	p.wants(exit.Unfinished, "", "nodrop: benchmark slow did not end in 1s\nhint: it goes on in the cluster")

	p = c.nodrop(t, "watch", "slow")
	p.says("Queued: waiting")
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Unfinished, "", "nodrop: watching was interrupted\nhint: it goes on in the cluster")
}

func deletedWhileWatched(t *testing.T, c *apiServer) {
	c.benchmark("deleted", inPhase(v1alpha1.PhaseQueued, "waiting"))
	p := c.nodrop(t, "watch", "deleted")
	p.says("Queued: waiting")
	b := objects.Benchmark("default", "deleted")
	if err := c.client.Delete(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	p.wants(exit.Use, "", "nodrop: the benchmark was deleted while it was watched")
}

func notFound(t *testing.T, c *apiServer) {
	c.benchmark("there", nil)
	for _, command := range []string{"watch", "report"} {
		p := c.nodrop(t, command, "their")
		p.wants(exit.Use, "", `nodrop: no Benchmark "their" in namespace "default"`)
		if !strings.Contains(p.stderr.String(), "hint: there are ") || !strings.Contains(p.stderr.String(), "there") {
			t.Errorf("%s: no hint with the benchmarks that exist: %s", command, &p.stderr)
		}
		p = c.nodrop(t, command, "there", "-n", "elsewhere")
		p.wants(exit.Use, "", `no Benchmark "there" in namespace "elsewhere"`)
	}
}

func reports(t *testing.T, c *apiServer) {
	c.benchmark("reported", inPhase(v1alpha1.PhaseRunning, ""))
	c.store("reported", oneRow...)
	p := c.nodrop(t, "report", "reported")
	p.wants(exit.Passed, "Traffic   IPv4/UDP, port pairs in both directions", "")

	p = c.nodrop(t, "report", "reported", "-o", "json")
	p.wants(exit.Passed, "", "")
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatal(err)
	}
	if document.Schema != report.Schema || len(document.Rows) != 1 || document.Profile == nil || document.Benchmark.UID == "" {
		t.Errorf("document: %s", &p.stdout)
	}

	c.status("reported", func(s *v1alpha1.BenchmarkStatus) {
		s.Results.Rows = 3
		s.Results.Archive = &v1alpha1.ArchiveReference{URL: "file:///archive/default/reported/1.json.zst", SHA256: "00", Time: metav1.Now()}
	})
	p = c.nodrop(t, "report", "reported")
	p.wants(exit.Passed, "Note: 2 of 3 rows are no longer in the cluster; the archive has them all:", "")
	c.status("reported", func(s *v1alpha1.BenchmarkStatus) {
		s.Results.Inputs = []v1alpha1.SnapshotSource{{Kind: v1alpha1.SnapshotTestBed, Name: "bed", SHA256: strings.Repeat("0", 64)}}
	})
	p = c.nodrop(t, "report", "reported")
	p.wants(exit.Use, "", "hint: the archive has it: kubectl nodrop report file:///archive/default/reported/1.json.zst")
	c.status("reported", func(s *v1alpha1.BenchmarkStatus) { s.Results.Inputs = nil })

	file := filepath.Join(t.TempDir(), "result.txt")
	p = c.nodrop(t, "report", "reported", "--output-file", file)
	p.wants(exit.Passed, "", "")
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "13.592") || p.stdout.String() != "" {
		t.Errorf("file: %v %s, stdout: %s", err, text, &p.stdout)
	}

	p = c.nodrop(t, "report", "reported", "-o", "html")
	p.wants(exit.Passed, "<h1>reported</h1>", "")
	p = c.nodrop(t, "report", "reported", "-o", "pdf")
	p.wants(exit.Passed, "%PDF-1.", "")
	p = c.nodrop(t, "report", "reported", "-o", "docx")
	p.wants(exit.Use, "", `"docx" is not an output format: give table, json, yaml, html, pdf, markdown, csv, junit, github or sarif`)
}

func compares(t *testing.T, c *apiServer) {
	for name, fps := range map[string]int64{"monday": 20_000_000_000, "friday": 25_000_000_000} {
		row := *oneRow[0].DeepCopy()
		row.Frames.FramesPerSecond, row.Frames.OfferedFramesPerSecond, row.Frames.Sent, row.Frames.Received = fps, fps, fps, fps
		c.benchmark(name, inPhase(v1alpha1.PhasePassed, ""))
		c.store(name, row)
	}
	file := filepath.Join(t.TempDir(), "monday.json")
	c.nodrop(t, "report", "monday", "-o", "json", "--output-file", file).wants(exit.Passed, "", "")
	c.nodrop(t, "compare", "monday", "friday").wants(exit.Passed, "+5,000,000,000     +25.00  friday", "")
	c.nodrop(t, "compare", "friday", "before="+file).wants(exit.Passed, "-5,000,000,000     -20.00  friday", "")
	c.nodrop(t, "compare", "monday", "fridey").wants(exit.Use, "", `nodrop: no Benchmark "fridey" in namespace "default"`)
}

// cutter passes connections on to a server until they are cut.
type cutter struct {
	t               *testing.T
	address, server string

	mu sync.Mutex
	// listener is nil while the line is cut.
	listener net.Listener
	open     []net.Conn
}

// newCutter listens on an address that no client uses, so that the port stays free while the
// connection is cut.
func newCutter(t *testing.T, server string) *cutter {
	t.Helper()
	c := &cutter{t: t, address: "127.0.0.2:0", server: server}
	c.join()
	t.Cleanup(c.cut)
	return c
}

// join takes connections from now on.
func (c *cutter) join() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	listener, err := net.Listen("tcp", c.address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.listener, c.address = listener, listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.pass(listener, conn)
		}
	}()
}

func (c *cutter) pass(listener net.Listener, conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		_ = conn.Close()
		return
	}
	if c.listener != listener {
		_ = conn.Close()
		_ = server.Close()
		return
	}
	c.open = append(c.open, conn, server)
	for _, ends := range [][2]net.Conn{{conn, server}, {server, conn}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			_ = ends[0].Close()
		}()
	}
}

// cut breaks every connection and refuses new ones.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listener != nil {
		_ = c.listener.Close()
	}
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.listener, c.open = nil, nil
}
