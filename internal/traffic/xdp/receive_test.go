package xdp

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// bench runs the receive program on single frames.
type bench struct {
	*testing.T
	port *port
}

const (
	xdpDrop = 1
	xdpPass = 2
)

// xdpContext is struct xdp_md.
type xdpContext struct {
	Data, DataEnd, DataMeta, Ingress, Queue, Egress uint32
}

func newBench(t *testing.T) *bench {
	t.Helper()
	bed := newBed(t)
	e := bed.backToBack()
	if err := e.Configure(t.Context(), []traffic.Stream{stream(1, e)}); err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, port: e.ports.named("p2")}
	b.epoch(1000)
	return b
}

// in is the bench in a part of the test, at the beginning of a trial: loading the programs
// takes longer than all that is received.
func (b *bench) in(t *testing.T) *bench {
	part := &bench{T: t, port: b.port}
	part.epoch(1000)
	return part
}

// since returns the strays since an earlier count.
func (b *bench) since(before strays) strays {
	b.Helper()
	all, err := b.port.receive.strays()
	if err != nil {
		b.Fatal(err)
	}
	return all.since(before)
}

// epoch begins a trial of 65,536 frames/s, of which 16,384 numbers are remembered.
func (b *bench) epoch(n uint16) {
	b.Helper()
	b.begin(n, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1 << 16, PerNanos: 1e9}}}})
}

// begin begins a trial.
func (b *bench) begin(epoch uint16, trial traffic.Trial) {
	b.Helper()
	if err := b.port.receive.expect(trial); err != nil {
		b.Fatal(err)
	}
	if err := b.port.receive.clear(epoch, 0); err != nil {
		b.Fatal(err)
	}
}

// receive gives a frame to the program as if the port had received it.
func (b *bench) receive(data []byte) uint32 {
	b.Helper()
	action, err := b.port.receive.attached.programs.Port.Run(&ebpf.RunOptions{
		// What does not fit into the first buffer is in others.
		Data: data, Context: xdpContext{DataEnd: uint32(min(len(data), 3000)), Ingress: uint32(b.port.index)},
	})
	if err != nil {
		b.Fatal(err)
	}
	return action
}

func (b *bench) frame(sig frame.Signature) []byte {
	b.Helper()
	data, err := frame.Packet{Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"), Size: 64}.Build(sig)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func (b *bench) flow() kernel.PortRxFlow {
	b.Helper()
	var f kernel.PortRxFlow
	if err := b.port.receive.attached.programs.RxFlows.LookupWithFlags(uint32(0), &f, ebpf.LookupLock); err != nil {
		b.Fatal(err)
	}
	return f
}

// sequence receives frames with these numbers.
func (b *bench) sequence(numbers ...uint64) {
	b.Helper()
	for _, n := range numbers {
		if got := b.receive(b.frame(frame.Signature{Epoch: 1000, Stream: 1, Sequence: n, Nanos: uint64(monotonic())})); got != xdpDrop {
			b.Fatalf("frame %d: action %d", n, got)
		}
	}
}

// The program puts every latency into the bucket that package traffic would.
func TestBucketsAgree(t *testing.T) {
	b := newBench(t)
	for latency := uint64(1); latency < 1<<44; latency += latency/3 + 1 {
		b.epoch(1000)
		b.receive(b.frame(frame.Signature{Epoch: 1000, Stream: 1, Nanos: (uint64(monotonic()) - latency) & (1<<48 - 1)}))
		f := b.flow()
		if f.Received != 1 || f.LatencyMin < latency || f.LatencyMin != f.LatencyMax || f.LatencySum != f.LatencyMin {
			t.Fatalf("latency %d: %d frames, min %d, max %d, sum %d", latency, f.Received, f.LatencyMin, f.LatencyMax, f.LatencySum)
		}
		for i, n := range f.Buckets {
			if (n == 1) != (uint32(i) == traffic.BucketIndex(f.LatencySum)) {
				t.Fatalf("a latency of %d ns is in bucket %d, want %d", f.LatencySum, i, traffic.BucketIndex(f.LatencySum))
			}
		}
	}
	b.epoch(1000)
	b.receive(b.frame(frame.Signature{Epoch: 1000, Stream: 1, Nanos: uint64(monotonic()) + 1e12}))
	if f := b.flow(); f.Buckets[0] != 1 || f.LatencyMax != 0 {
		t.Errorf("a frame from the future has latency %d", f.LatencyMax)
	}
}

func TestWindow(t *testing.T) {
	const window = 32 * 512
	type counts struct{ received, duplicate, reordered, late uint64 }
	whole := newBench(t)
	for name, test := range map[string]struct {
		numbers []uint64
		want    counts
	}{
		"in order":                   {[]uint64{0, 1, 2, 3}, counts{received: 4}},
		"not from 0":                 {[]uint64{70, 71, 75}, counts{received: 3}},
		"a copy":                     {[]uint64{0, 1, 1, 0, 2}, counts{received: 3, duplicate: 2}},
		"one early":                  {[]uint64{3, 0, 1, 2, 4}, counts{received: 5, reordered: 3}},
		"one late, and its copy":     {[]uint64{0, 2, 3, 1, 1}, counts{received: 4, reordered: 1, duplicate: 1}},
		"across blocks":              {[]uint64{31, 32, 64, 63, 32, 0}, counts{received: 5, reordered: 2, duplicate: 1}},
		"the oldest in the window":   {[]uint64{window - 1, 0, 0}, counts{received: 2, reordered: 1, duplicate: 1}},
		"just out of the window":     {[]uint64{31, window, 30, 31}, counts{received: 2, late: 2}},
		"a place used again":         {[]uint64{5, window + 5, window + 5, 2*window + 5, window + 40}, counts{received: 4, duplicate: 1, reordered: 1}},
		"more than 32 bits":          {[]uint64{1<<37 - 1, 1 << 37, 1<<37 + 1, 1 << 37, 1<<48 - 1}, counts{received: 4, duplicate: 1}},
		"a block number's low bits":  {[]uint64{3, 1<<37 + 3}, counts{received: 2}},
		"a gap as long as the trial": {[]uint64{0, 1 << 40, 1<<40 - 1}, counts{received: 3, reordered: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b := whole.in(t)
			b.sequence(test.numbers...)
			f := b.flow()
			if got := (counts{f.Received, f.Duplicate, f.Reordered, f.Late}); got != test.want {
				t.Errorf("%v: %+v, want %+v", test.numbers, got, test.want)
			}
		})
	}
}

// Ten thousand frames with losses, copies and changes of place are counted as
// by a simple model that remembers everything.
func TestWindowAgainstModel(t *testing.T) {
	b := newBench(t)
	r := rand.New(rand.NewPCG(1, 2))
	var numbers []uint64
	for n := range uint64(10_000) {
		for range [...]int{1, 1, 1, 1, 1, 0, 2, 1, 1, 3}[r.IntN(10)] {
			numbers = append(numbers, n)
		}
	}
	for range 3000 {
		i := r.IntN(len(numbers))
		j := min(len(numbers)-1, i+r.IntN(1<<r.IntN(13)))
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
	b.sequence(numbers...)

	seen, next := map[uint64]bool{}, uint64(0)
	var received, duplicate, reordered uint64
	for _, n := range numbers {
		switch {
		case seen[n]:
			duplicate++
			continue
		case n < next:
			reordered++
		default:
			next = n + 1
		}
		seen[n] = true
		received++
	}
	f := b.flow()
	if f.Received != received || f.Duplicate != duplicate || f.Reordered != reordered || f.Late != 0 {
		t.Errorf("received %d, duplicate %d, reordered %d, late %d; want %d, %d, %d, 0", f.Received, f.Duplicate, f.Reordered, f.Late, received, duplicate, reordered)
	}
	if received < 8000 || duplicate < 2000 || reordered < 2000 {
		t.Errorf("the model saw %d received, %d duplicate, %d reordered: too few to tell", received, duplicate, reordered)
	}
}

// Everything but test frames goes to the kernel.
func TestPass(t *testing.T) {
	b := newBench(t)
	sig := frame.Signature{Epoch: 1000, Stream: 1}
	foreign := func() []byte {
		data := b.frame(sig)
		data[42], data[43] = 1, 2 // the magic
		return data
	}
	change := func(at int, to byte) []byte {
		data := foreign()
		data[at] = to
		return data
	}
	for name, test := range map[string]struct {
		data []byte
		want uint32
	}{
		"a test frame":          {b.frame(sig), xdpDrop},
		"another magic":         {foreign(), xdpPass},
		"TCP":                   {change(23, 6), xdpPass},
		"IPv4 with options":     {change(14, 0x46), xdpPass},
		"ARP":                   {change(13, 0x06), xdpPass},
		"one byte short":        {foreign()[:59], xdpPass},
		"an unknown stream":     {b.frame(frame.Signature{Epoch: 1000, Stream: 2}), xdpDrop},
		"an earlier trial":      {b.frame(frame.Signature{Epoch: 999, Stream: 1}), xdpDrop},
		"IPv6 in an IPv4 frame": {change(12, 0x86), xdpPass},
		"nothing":               {make([]byte, 14), xdpPass},
	} {
		if got := b.receive(test.data); got != test.want {
			t.Errorf("%s: action %d, want %d", name, got, test.want)
		}
	}
	if f := b.flow(); f.Received != 1 {
		t.Errorf("received %d, want the one test frame of this trial", f.Received)
	}
	if got, err := b.port.receive.strays(); err != nil || got != (strays{stale: 1, unknown: 1}) {
		t.Errorf("%+v %v, want one stale and one unknown", got, err)
	}
}

// Test frames are found behind what a device may put before the network layer or
// take away, and only there.
func TestFindsTheSignature(t *testing.T) {
	b := newBench(t)
	v4, v6 := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("2001:2::1")
	stack := []uint32{16, 17, 18, 19}
	want := uint64(0)
	for _, addr := range []netip.Addr{v4, v6, {}} {
		for _, vlans := range []frame.VLANs{nil, {{ID: 1}}, {{ID: 4094}}, {{ID: 4094}, {ID: 1}}} {
			for n := range len(stack) + 1 {
				p := frame.Packet{Src: addr, Dst: addr, VLANs: vlans, Labels: stack[:n], TrafficClass: 0xff}
				p.Size = p.MinSize()
				data, err := p.Build(frame.Signature{Epoch: 1000, Stream: 1, Sequence: want, Nanos: uint64(monotonic())})
				if err != nil {
					t.Fatal(err)
				}
				b.port.receive.attached.programs.Expected[0].Payload.Length = uint16(len(data) - p.NetworkOffset())
				if got := b.receive(data); got != xdpDrop {
					t.Errorf("%v in %v with %d labels: action %d", addr, vlans, n, got)
				}
				want++
				b.receive(data[:p.SignatureOffset()+frame.SignatureSize-1]) // is not counted
				at := p.SignatureOffset()
				data[at]++ // the magic
				data[at+1]++
				if got := b.receive(data); got != xdpPass {
					t.Errorf("%v in %v with %d labels, another magic: action %d", addr, vlans, n, got)
				}
				data[at]--
				data[at+1]--
				if n > 0 {
					data[p.NetworkOffset()-2] &^= 1 // the bottom of the stack
					if got := b.receive(data); got != xdpPass && n == len(stack) && vlans == nil {
						t.Errorf("%v in %v with more labels than are read: action %d", addr, vlans, got)
					}
				}
			}
		}
	}
	if f := b.flow(); f.Received != want || f.Duplicate != 0 {
		t.Errorf("received %d, duplicate %d, want %d and none", f.Received, f.Duplicate, want)
	}
}

// When the first and the last frame arrived is by the clock of moments.
func TestFirstAndLast(t *testing.T) {
	b := newBench(t)
	if f := b.flow(); f.FirstNs != 0 || f.LastNs != 0 || f.SilentTo != 0 {
		t.Errorf("without a frame: first %d, last %d, silent to %d", f.FirstNs, f.LastNs, f.SilentTo)
	}
	before := uint64(monotonic())
	b.sequence(3)
	between := uint64(monotonic())
	b.sequence(4, 1)
	after := uint64(monotonic())
	f := b.flow()
	if f.FirstNs < before || f.FirstNs > between || f.LastNs < between || f.LastNs > after {
		t.Errorf("first %d, last %d: want them between %d, %d and %d", f.FirstNs, f.LastNs, before, between, after)
	}
	last := f.LastNs
	b.sequence(4) // a copy is not received
	if f := b.flow(); f.LastNs != last {
		t.Errorf("a copy moved the last from %d to %d", last, f.LastNs)
	}
}

// The longest time without a frame lies between the two frames on both sides of it. A
// copy does not end it.
func TestLongestSilence(t *testing.T) {
	b := newBench(t)
	b.sequence(1)
	if f := b.flow(); f.SilentFrom != 0 || f.SilentTo != 0 {
		t.Errorf("one frame: silent from %d to %d", f.SilentFrom, f.SilentTo)
	}
	first := b.flow().FirstNs
	arrived := []uint64{first}
	for _, number := range []uint64{2, 3, 4, 5, 6} {
		if number == 4 {
			// As long as all frames before took, so that no time between two of them is longer.
			for end := 2*uint64(monotonic()) - first; uint64(monotonic()) < end; {
				b.sequence(3) // a copy
			}
		}
		b.sequence(number)
		arrived = append(arrived, b.flow().LastNs)
	}
	var from, to uint64
	for i, at := range arrived[1:] { // A processor in other use may make any of them the longest.
		if before := arrived[i]; at-before > to-from {
			from, to = before, at
		}
	}
	if f := b.flow(); f.SilentFrom != from || f.SilentTo != to {
		t.Errorf("silent from %d to %d, want %d to %d; frames arrived at %v", f.SilentFrom, f.SilentTo, from, to, arrived)
	}
}
