package xdp

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capture"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// openCapturing opens an engine that keeps frames.
func (b *bed) openCapturing(capture traffic.Capture, ports ...Port) *Engine {
	b.Helper()
	e, err := New(Options{Host: "test", Ports: ports, Capture: capture})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Errorf("closing: %v", err)
		}
	})
	b.plugged()
	return e
}

// Of a device that drops and corrupts, the first frames, the corrupt ones and the
// neighbors of those that are missing are kept, up to the bound.
func TestCapture(t *testing.T) {
	bed := newBed(t)
	d := bed.device()
	d.inXDP(settings{"drop_every": uint32(100), "corrupt_every": uint32(70)})
	const kept = 100
	e := bed.openCapturing(traffic.Capture{Frames: 3, Bytes: kept}, d.ports(nil, nil)...)
	one := stream(1, e)
	one.FrameSize = 128
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 5000, PerNanos: 1e9}, Frames: 1000}}}
	for n := range 2 {
		before := d.faults()
		settled := func(m traffic.Measurement) bool {
			f := d.faults()
			return received(m)+m.Damaged["p2"].Corrupted+f.Dropped-before.Dropped+f.Refused-before.Refused == sent(m)
		}
		var m traffic.Measurement
		if n == 0 {
			m = bed.run(e, []traffic.Stream{one}, trial, settled)
		} else {
			m = bed.again(e, trial, settled)
		}
		of := map[traffic.CaptureKind][]traffic.CapturedFrame{}
		for i, f := range m.Captured {
			if f.Port != "p2" || f.Length != 124 || len(f.Data) != kept || i > 0 && f.Time.Before(m.Captured[i-1].Time) {
				t.Errorf("trial %d: %+v", n, f)
			}
			for _, kind := range f.Kinds {
				of[kind] = append(of[kind], f)
			}
		}
		for _, kind := range kernel.CaptureKinds {
			if len(of[kind]) != 3 {
				t.Errorf("trial %d: %d frames %s, want 3", n, len(of[kind]), kind)
			}
		}
		sequences := func(kind traffic.CaptureKind) (all []uint64) {
			for _, f := range of[kind] {
				all = append(all, f.Sequence)
			}
			return all
		}
		if got := sequences(traffic.CaptureFirst); !slices.IsSorted(got) || len(got) == 0 || got[0] > 1 {
			t.Errorf("trial %d: the first are %v", n, got)
		}
		for i, after := range of[traffic.CaptureAfterGap] {
			if before := of[traffic.CaptureBeforeGap][i]; after.Missing == 0 || before.Sequence+after.Missing+1 != after.Sequence {
				t.Errorf("trial %d: %d are missing between %d and %d", n, after.Missing, before.Sequence, after.Sequence)
			}
		}
		readBack(t, m.Captured)
		for _, f := range of[traffic.CaptureDamaged] {
			if f.Damage != "corrupted" {
				t.Errorf("trial %d: damage %q", n, f.Damage)
			}
		}
	}
}

// readBack writes frames as PCAPNG and reads them.
func readBack(t *testing.T, frames []traffic.CapturedFrame) {
	t.Helper()
	var file bytes.Buffer
	if n, err := capture.Write(&file, capture.Trial{Name: "trial", Frames: frames}); err != nil || n != int64(len(frames)) {
		t.Fatalf("%d frames, %v", n, err)
	}
	r, err := pcapgo.NewNgReader(&file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	gaps := 0
	for i, want := range frames {
		data, info, options, err := r.ReadPacketDataWithOptions()
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if !bytes.Equal(data, want.Data) || info.Length != want.Length || !info.Timestamp.Equal(want.Time) || len(options.Comments) != 1 {
			t.Errorf("frame %d: %+v with %q, want %+v", i, info, options.Comments, want)
		}
		if strings.Contains(options.Comments[0], "after a gap: sequence") {
			gaps++
		}
		damaged := strings.HasPrefix(options.Comments[0], "trial: corrupted: sequence ")
		p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.NoCopy)
		if p.NetworkLayer() == nil && !damaged || damaged != (want.Damage != "") {
			t.Errorf("frame %d: %v, comment %q", i, p, options.Comments)
		}
	}
	if _, _, err := r.ReadPacketData(); !errors.Is(err, io.EOF) || gaps == 0 {
		t.Errorf("%d gaps, at the end %v", gaps, err)
	}
}

// What keeps frames is not in the programs of an engine that keeps none, and is no burden
// to the verifier in others.
func TestCaptureIsLeftOutOfPrograms(t *testing.T) {
	newBed(t)
	instructions := func(c traffic.Capture) (n int, verified uint32) {
		p, err := kernel.Load(1, 1, kernel.Room{Ports: 2}.Rounded(), true, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		info, err := p.Port.Info()
		if err != nil {
			t.Fatal(err)
		}
		all, err := info.Instructions()
		if err != nil {
			t.Fatal(err)
		}
		verified, _ = info.VerifiedInstructions()
		return len(all), verified
	}
	off, _ := instructions(traffic.Capture{})
	on, verified := instructions(traffic.Capture{Frames: 10, Bytes: 256})
	if off >= on || verified > 100_000 {
		t.Errorf("%d instructions without and %d with it, of which the verifier looks at %d", off, on, verified)
	}
}

func TestCaptureIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []traffic.Capture{{Frames: 1001, Bytes: 64}, {Frames: 1, Bytes: 2049}, {Frames: 1}, {Frames: -1, Bytes: 64}} {
		if err := checkCapture(c); err == nil {
			t.Errorf("%+v: accepted", c)
		}
	}
}
