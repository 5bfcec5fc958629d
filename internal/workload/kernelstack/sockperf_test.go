package kernelstack

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// medianOfSockperf is the line with the median of round-trip times in µs.
var medianOfSockperf = regexp.MustCompile(`percentile 50\.000 =\s*([0-9.]+)`)

// TestRequestsAgreeWithSockperf measures the same two hosts over the same router with requests of our own and with sockperf, one after the
// other and again. The lowest medians agree within 5 %.
func TestRequestsAgreeWithSockperf(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, and needs a quiet machine")
	}
	path, err := exec.LookPath("sockperf")
	if err != nil {
		t.Skip("sockperf is not installed: install the package sockperf to compare with it")
	}
	b := newBed(t, 16_000_000, true)
	const times, bytes = 7, 64
	r := workload.RPCRequest{Client: "client", Server: "servers", Bytes: bytes, Requests: 20_000, MTU: 1500}
	d, err := b.dialog(t.Context(), "client", "servers", r)
	if err != nil {
		t.Fatal(err)
	}
	serving := make(chan struct{})
	go func() {
		defer close(serving)
		if err := d.serve(bytes); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		d.interrupt()
		<-serving
		if err := d.close(); err != nil {
			t.Error(err)
		}
	})
	serve(t, d, path)
	var ours, theirs, ratios []float64
	for range times {
		before, err := look()
		if err != nil {
			t.Fatal(err)
		}
		var all []time.Duration
		asked := make(chan error)
		go func() {
			runtime.LockOSThread() // ends with the goroutine
			err := pin()
			if err == nil {
				all, err = d.ask(bytes, r.Requests)
			}
			asked <- err
		}()
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		after, err := look()
		if err != nil {
			t.Fatal(err)
		}
		own := float64(workload.Percentile(all, 50)) / float64(time.Microsecond)
		other := askSockperf(t, d, path, bytes)
		limits := after.since(before)
		t.Logf("median of ours %.2f µs and of sockperf %.2f µs, ratio %.3f, processors busy for %d ppm", own, other, own/other, limits.BusyPPM)
		if limits.Doubt() == "" {
			ours, theirs, ratios = append(ours, own), append(theirs, other), append(ratios, own/other)
		}
	}
	if len(ratios) < times/2+1 {
		t.Skipf("others kept the processors busy in %d of %d measurements: measure with other programs stopped", times-len(ratios), times)
	}
	// Both see a machine that changes between levels of speed: the lowest medians are of the same level.
	if ratio := slices.Min(ours) / slices.Min(theirs); ratio < 0.95 || ratio > 1.05 {
		t.Errorf("ours %v µs and sockperf %v µs: the ratio of the lowest medians is %.3f, want 0.95 to 1.05", ours, theirs, ratio)
	}
}

// inHost returns a command of sockperf on the processor of our requests.
func inHost(t *testing.T, ctx context.Context, h *host, path string, args ...string) *exec.Cmd {
	t.Helper()
	n, err := processorOfRequests()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, "taskset", append(append([]string{"-c", strconv.Itoa(n), path}, args...), "--tcp", "-i", h.address.String(), "-p", "11111")...)
}

// serve starts the server of sockperf, and waits until it listens.
func serve(t *testing.T, d *dialog, path string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := inHost(t, ctx, d.server, path, "server")
	out, err := server.StdoutPipe()
	if err == nil {
		err = netif.In(d.server.ns, server.Start)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = server.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte("using recvfrom")) || bytes.Contains(lines.Bytes(), []byte("Warmup")) || bytes.Contains(lines.Bytes(), []byte("listen")) {
			break
		}
	}
	go func() {
		for lines.Scan() { // or the server would block
		}
	}()
}

// askSockperf returns the median of round-trip times in µs.
func askSockperf(t *testing.T, d *dialog, path string, size int) float64 {
	t.Helper()
	client := inHost(t, t.Context(), d.server, path, "ping-pong", "-m", strconv.Itoa(size), "-t", "1", "--full-rtt")
	var out bytes.Buffer
	client.Stdout, client.Stderr = &out, &out
	if err := netif.In(d.client.ns, client.Run); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	found := medianOfSockperf.FindSubmatch(out.Bytes())
	if found == nil {
		t.Fatalf("sockperf names no median:\n%s", &out)
	}
	median, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return median
}
