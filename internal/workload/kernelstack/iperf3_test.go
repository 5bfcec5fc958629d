package kernelstack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// TestBulkAgreesWithIperf3 sends data between the same two hosts over the same router and its queue, by ourselves and with iperf3, one
// after the other and again. The queue is the limit. The medians of the rates agree within 5 %.
func TestBulkAgreesWithIperf3(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	path, err := exec.LookPath("iperf3")
	if err != nil {
		t.Skip("iperf3 is not installed: install the package iperf3 to compare with it")
	}
	b := newBed(t, 500_000, true)
	for _, connections := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d connections", connections), func(t *testing.T) { b.compareWithIperf3(t, connections, path) })
	}
}

// compareWithIperf3 compares a number of connections, by turns between the same two hosts.
func (b bed) compareWithIperf3(t *testing.T, connections int, path string) {
	t.Helper()
	const times, lasting = 5, 3 * time.Second
	r := bulkRequest(0, connections)
	r.Duration = lasting
	run, err := b.newBulk(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.close(); err != nil {
			t.Error(err)
		}
	})
	serveIperf3(t, run.receiver, path)
	var ours, theirs []float64
	for range times {
		found, err := run.move(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		complete(t, found, r)
		own, other := rate(found), askIperf3(t, run, path, connections, lasting)
		t.Logf("ours %.3f Mbit/s and iperf3 %.3f, ratio %.4f, %d retransmissions, %+v", own/1e6, other/1e6, own/other, retransmitted(found), found.Limits)
		if link := linkGoodput(50e6, r.MTU); max(own, other) > 0.9*link {
			ours, theirs = append(ours, own), append(theirs, other)
		}
	}
	if len(ours) < times/2+1 {
		t.Skipf("the processors were too busy for the rate of the queue in %d of %d measurements: measure with other programs stopped", times-len(ours), times)
	}
	ratio := median(ours) / median(theirs)
	t.Logf("the ratio of the medians is %.4f", ratio)
	if ratio < 0.95 || ratio > 1.05 {
		t.Errorf("ours %v bit/s and iperf3 %v: the ratio of the medians is %.3f, want 0.95 to 1.05", ours, theirs, ratio)
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func retransmitted(b workload.Bulk) (n uint64) {
	for _, c := range b.Connections {
		n += c.TCP.Retransmissions
	}
	return n
}

// serveIperf3 starts the server of iperf3 on a host, and waits until it listens.
func serveIperf3(t *testing.T, h *host, path string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, path, "--server", "--bind", h.address.String(), "--forceflush")
	out, err := server.StdoutPipe()
	if err == nil {
		err = netif.In(h.ns, server.Start)
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = server.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && !bytes.Contains(lines.Bytes(), []byte("listening")) {
	}
	go func() {
		for lines.Scan() { // or the server would block
		}
	}()
}

// askIperf3 returns the bits per second that the receiver of iperf3 counted.
func askIperf3(t *testing.T, run *bulk, path string, connections int, lasting time.Duration) float64 {
	t.Helper()
	client := exec.CommandContext(t.Context(), path, "--client", run.receiver.address.String(), "--json",
		"--time", strconv.Itoa(int(lasting.Seconds())), "--parallel", strconv.Itoa(connections), "--congestion", run.request.CongestionControl)
	var out, problems bytes.Buffer
	client.Stdout, client.Stderr = &out, &problems
	if err := netif.In(run.sender.ns, client.Run); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &problems)
	}
	var found struct {
		End struct {
			Received struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out.Bytes(), &found); err != nil || found.End.Received.BitsPerSecond == 0 {
		t.Fatalf("iperf3 names no rate: %v\n%s", err, &out)
	}
	return found.End.Received.BitsPerSecond
}
