package kernelstack

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// bulkRequest returns a data set that moves over the queue of the device.
func bulkRequest(bytes int64, connections int) workload.BulkRequest {
	return workload.BulkRequest{Sender: "servers", Receiver: "client", Bytes: bytes, Connections: connections, MTU: 1500, CongestionControl: "reno"}
}

// rate returns the useful bits per second of a bulk.
func rate(b workload.Bulk) float64 { return float64(8*b.Received()) / b.Took.Seconds() }

// linkGoodput returns the useful bits per second of a queue with a rate: its rate counts frames without FCS.
func linkGoodput(bits float64, mtu int) float64 { return bits * float64(mtu-52) / float64(mtu+14) }

// complete checks that all bytes sent were received, over connections with a part each.
func complete(t *testing.T, found workload.Bulk, r workload.BulkRequest) {
	t.Helper()
	if texts := r.Differences(found.Settings); len(texts) > 0 || found.Settings.SendBuffer == 0 || found.Settings.ReceiveBuffer == 0 {
		t.Errorf("%q, %+v", texts, found.Settings)
	}
	if len(found.Connections) != r.Connections || found.Sent() != found.Received() || r.Bytes > 0 && found.Received() != r.Bytes {
		t.Errorf("%d of %d sent bytes of %d over %d connections", found.Received(), found.Sent(), r.Bytes, len(found.Connections))
	}
	for _, c := range found.Connections {
		if c.Problem != "" || c.Sent != c.Received || c.Received == 0 {
			t.Errorf("%+v", c)
		}
	}
	if sender, receiver := found.CPUPPM(); sender == 0 && receiver == 0 {
		t.Error("no processor time")
	}
}

func TestBulkOverARouter(t *testing.T) {
	b := newBed(t, 500_000, true)
	for name, tc := range map[string]struct {
		bytes       int64
		duration    time.Duration
		connections int
		mtu         int
	}{
		"a data set, one connection":    {8_000_001, 0, 1, 1500},
		"a data set, eight connections": {8_000_001, 0, 8, 9000},
		"a time, one connection":        {0, time.Second, 1, 9000},
		"a time, four connections":      {0, time.Second, 4, 1500},
	} {
		r := bulkRequest(tc.bytes, tc.connections)
		r.Duration, r.MTU = tc.duration, tc.mtu
		found, err := b.Bulk(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		sender, receiver := found.CPUPPM()
		t.Logf("%s: %.2f Mbit/s in %s, processors %d and %d ppm, %d timeouts, %+v %q", name, rate(found)/1e6, found.Took, sender, receiver, found.Timeouts, found.Limits, found.Doubt())
		complete(t, found, r)
		if found.Took < tc.duration {
			t.Errorf("%s: took %s", name, found.Took)
		}
		// A burst of 16,384 bytes comes on top of the rate. A connection that waits for its timer after a loss at its end sends nothing.
		if want := linkGoodput(50e6, tc.mtu); rate(found) > want*1.02 || found.Doubt() == "" && found.Timeouts == 0 && rate(found) < want*0.9 {
			t.Errorf("%s: %.2f Mbit/s, and the link carries %.2f", name, rate(found)/1e6, want/1e6)
		}
	}
}

// shape changes the rate of the queue of the device to the client.
func (b bed) shape(bits uint64) {
	b.Helper()
	err := netif.In(b.device.Namespace(), func() error {
		link, err := netlink.LinkByName("client")
		if err != nil {
			return err
		}
		all, err := netlink.QdiscList(link)
		if err != nil {
			return err
		}
		for _, one := range all {
			if queue, is := one.(*netlink.Tbf); is {
				queue.Rate = bits / 8
				return netlink.QdiscChange(queue)
			}
		}
		b.Fatalf("no queue among %v", all)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// TestBulkShowsHalfTheRate halves the rate of the device: the goodput is half of the one before.
func TestBulkShowsHalfTheRate(t *testing.T) {
	b := newBed(t, 500_000, true)
	var rates []float64
	r := bulkRequest(2_400_000, 2)
	for _, bits := range []uint64{20_000_000, 10_000_000} { // which hosts on a busy machine reach
		b.shape(bits)
		found, err := b.Bulk(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		complete(t, found, r)
		rates = append(rates, rate(found))
		if want := linkGoodput(float64(bits), r.MTU); rate(found) > want*1.02 {
			t.Errorf("%.2f Mbit/s, and the link carries %.2f", rate(found)/1e6, want/1e6)
		}
	}
	if ratio := rates[1] / rates[0]; ratio < 0.45 || ratio > 0.55 {
		t.Errorf("%.0f and %.0f bit/s, a ratio of %.3f", rates[0], rates[1], ratio)
	}
}

// breakOff runs a bulk of a time, and calls a function with its first connection once data has arrived on it.
func (b bed) breakOff(r workload.BulkRequest, stall time.Duration, change func(*bulkFlow)) workload.Bulk {
	b.Helper()
	run, err := b.newBulk(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := run.close(); err != nil {
			b.Error(err)
		}
	}()
	run.stall = stall
	run.begun = func() {
		for run.flows[0].received.Load() == 0 {
			runtime.Gosched()
		}
		change(run.flows[0])
	}
	found, err := run.move(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return found
}

// TestBulkShowsALostConnection ends a connection at the receiver: its bytes are missing, and the others go on.
func TestBulkShowsALostConnection(t *testing.T) {
	b := newBed(t, 500_000, true)
	found := b.breakOff(bulkRequest(6_000_000, 3), stallTime, func(f *bulkFlow) {
		if err := unix.Shutdown(f.far.fd, unix.SHUT_RDWR); err != nil {
			t.Error(err)
		}
	})
	lost, kept := found.Connections[0], found.Connections[1:]
	t.Logf("%+v", found.Connections)
	if lost.Received >= lost.Sent || !strings.Contains(lost.Problem, "connection 1 was lost: ") || !strings.Contains(lost.Problem, " sent bytes arrived: ") {
		t.Errorf("%+v", lost)
	}
	for _, c := range kept {
		if c.Problem != "" || c.Received != c.Sent || c.Received <= lost.Received {
			t.Errorf("%+v", c)
		}
	}
	if found.Sent()+bulkPart < 6_000_000 || found.Received() >= 6_000_000 {
		t.Errorf("%d of %d bytes", found.Received(), found.Sent())
	}
}

// TestBulkShowsADeviceThatStops takes the port of the device down: all connections are lost, and the bulk ends.
func TestBulkShowsADeviceThatStops(t *testing.T) {
	b := newBed(t, 500_000, true)
	r := bulkRequest(0, 2)
	r.Duration = time.Hour
	found := b.breakOff(r, 300*time.Millisecond, func(*bulkFlow) {
		err := netif.In(b.device.Namespace(), func() error {
			link, err := netlink.LinkByName("client")
			if err == nil {
				err = netlink.LinkSetDown(link)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	for _, c := range found.Connections {
		if c.Received >= c.Sent || !strings.Contains(c.Problem, "without a byte for too long") {
			t.Errorf("%+v", c)
		}
	}
}

func TestBulkExplainsWhatIsMissing(t *testing.T) {
	b := newBed(t, 500_000, false)
	for name, tc := range map[string]struct {
		change func(*workload.BulkRequest)
		want   string
	}{
		"a congestion control": {func(r *workload.BulkRequest) { r.CongestionControl = "vegetable" }, "congestionControl is vegetable, and the kernel of the hosts has reno"},
		"an MTU":               {func(r *workload.BulkRequest) { r.MTU = 20_000 }, "interface servers has an MTU of 9198 bytes, and the test asks for 20000"},
		"data":                 {func(r *workload.BulkRequest) { r.Bytes = 0 }, "give one of them above 0"},
		"a port":               {func(r *workload.BulkRequest) { r.Receiver = "p9" }, "port p9 is not known"},
	} {
		request := bulkRequest(1, 1)
		tc.change(&request)
		if _, err := b.Bulk(t.Context(), request); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := bulkRequest(0, 2)
	r.Duration = time.Hour
	run, err := b.newBulk(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	run.begun = cancel
	if _, err := run.move(ctx); err == nil {
		t.Error("a cancelled bulk succeeded")
	}
	if err := run.close(); err != nil {
		t.Error(err)
	}
}
