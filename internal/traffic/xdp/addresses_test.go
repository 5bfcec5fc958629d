package xdp

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
)

// addressed makes a bridge for the address tests, whose frames have no network layer
// and ranges of hardware addresses. It skips the test on an engine without them.
func addressed(t *testing.T) *linuxBridge {
	t.Helper()
	br := newBed(t).bridged()
	s := traffic.Stream{ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: 512, Headers: traffic.Headers{
		SrcMAC: traffic.MAC{2, 1}, SrcMACCount: 2, DstMAC: traffic.MAC{2, 2}, DstMACCount: 2, SrcIPCount: 1, DstIPCount: 1, SrcPortCount: 1, DstPortCount: 1,
	}}
	if err := br.engine.Configure(t.Context(), []traffic.Stream{s}); err != nil {
		t.Skipf("skipped: the engine sends no frames without a network layer: %v", err)
	}
	return br
}

// learnt are the addresses of an iteration that the bridge holds on the learning
// port: they have their first three bytes in common.
func (br *linuxBridge) learnt(iteration int) int {
	br.Helper()
	l, err := br.nl.LinkByName("d1")
	if err != nil {
		br.Fatal(err)
	}
	all, err := br.nl.NeighList(l.Attrs().Index, unix.AF_BRIDGE)
	if err != nil {
		br.Fatal(err)
	}
	n := 0
	for _, entry := range all {
		if bytes.HasPrefix(entry.HardwareAddr, []byte{0x02, 0x9e, byte(iteration)}) && entry.State&netlink.NUD_PERMANENT == 0 {
			n++
		}
	}
	return n
}

// A Linux bridge holds every address that it is offered: the capacity is at least the
// greatest number that is tried, and its table says the same.
func TestBridgeHoldsAddresses(t *testing.T) {
	longtest.Skip(t, "TestRunAddressesOverBridge")
	br := addressed(t)
	test := &v1alpha1.AddressCachingTest{MaxAddresses: 500, LearningRate: 1000}
	test.AgingTime.Duration = 2 * time.Second // of a fresh bridge, which has nothing to forget
	row, out, _ := br.measure(v1alpha1.Test{AddressCaching: test})
	c := row.AddressCaching
	if c.Addresses != 500 || c.ExceededAt != 0 || out.Message == "" {
		t.Errorf("%+v (%s), want all 500", *c, out.Message)
	}
	br.holds(c.Iterations)
}

// It learns them as fast as they come.
func TestBridgeLearnsAddresses(t *testing.T) {
	longtest.Skip(t, "TestRunAddressesOverBridge")
	br := addressed(t)
	most := int32(2000)
	test := &v1alpha1.AddressLearningTest{Addresses: 1000, MaxRate: &most, Resolution: 500}
	test.AgingTime.Duration = 3 * time.Second
	row, out, _ := br.measure(v1alpha1.Test{AddressLearning: test})
	l := row.AddressLearning
	// Where the tester was too slow, it says so.
	if l.AddressesPerSecond == 0 || out.Limit == nil && (l.AddressesPerSecond != 2000 || l.ExceededAt != 0) {
		t.Errorf("%+v (%s), want all at 2000/s", *l, out.Message)
	}
	br.holds(l.Iterations)
}

// holds compares iterations with the bridge's table. Its own aging time is longer than
// the test.
func (br *linuxBridge) holds(iterations []v1alpha1.AddressIteration) {
	br.Helper()
	for i, it := range iterations {
		if it.Sent == 0 {
			continue // offered short
		}
		if held := br.learnt(i); int64(held) != it.Addresses || it.Flooded != 0 || it.Received != it.Sent {
			br.Errorf("%+v: the bridge holds %d addresses", it, held)
		}
	}
}

// A bridge that may not learn floods all frames, and the monitoring port sees them.
func TestBridgeThatDoesNotLearn(t *testing.T) {
	br := addressed(t)
	for i := range bridgePorts {
		l, err := br.nl.LinkByName(fmt.Sprintf("d%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		if err := br.nl.LinkSetLearning(l, false); err != nil {
			t.Fatal(err)
		}
	}
	test := &v1alpha1.AddressCachingTest{MaxAddresses: 2, LearningRate: 1000}
	test.AgingTime.Duration = 500 * time.Millisecond
	row, out, _ := br.measure(v1alpha1.Test{AddressCaching: test})
	c := row.AddressCaching
	if c.Addresses != 0 || c.ExceededAt != 1 || out.Trial.Lost != 0 {
		t.Errorf("%+v (%s), want no address", *c, out.Message)
	}
	for _, it := range c.Iterations {
		if it.Flooded != it.Sent || it.Received != it.Sent {
			t.Errorf("%+v: want every frame flooded", it)
		}
	}
}
