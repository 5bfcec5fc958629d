package xdp

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// loadable returns functions that load each set of BPF programs, by name.
func loadable() map[string]func() (io.Closer, map[string]*ebpf.Program, error) {
	port := func(frags bool, capture traffic.Capture) func() (io.Closer, map[string]*ebpf.Program, error) {
		return func() (io.Closer, map[string]*ebpf.Program, error) {
			p, err := kernel.Load(1, 1, kernel.Room{Ports: 2}.Rounded(), frags, capture, nil)
			if err != nil {
				return nil, nil, err
			}
			return closer(p.Close), map[string]*ebpf.Program{"port": p.Port, "tx_done": p.TxDone, "tx_refused": p.TxRefused}, nil
		}
	}
	return map[string]func() (io.Closer, map[string]*ebpf.Program, error){
		"several buffers": port(true, traffic.Capture{}),
		"one buffer":      port(false, traffic.Capture{}),
		"capture":         port(true, traffic.Capture{Frames: 10, Bytes: 2048}),
		"tags": func() (io.Closer, map[string]*ebpf.Program, error) {
			var o kernel.TagObjects
			err := kernel.LoadTagObjects(&o, nil)
			return &o, map[string]*ebpf.Program{"tag": o.Tag, "untag": o.Untag}, err
		},
		"device under test": func() (io.Closer, map[string]*ebpf.Program, error) {
			var o dutObjects
			err := loadDutObjects(&o, nil)
			return &o, programsOf(&o.dutPrograms), err
		},
	}
}

// closer is a function that implements io.Closer.
type closer func() error

func (c closer) Close() error { return c() }

// programsOf returns the fields of a struct of programs by name.
func programsOf(programs any) map[string]*ebpf.Program {
	all := map[string]*ebpf.Program{}
	v := reflect.ValueOf(programs).Elem()
	for i := range v.NumField() {
		all[v.Type().Field(i).Name] = v.Field(i).Interface().(*ebpf.Program)
	}
	return all
}

// All programs load on this kernel. The verifier follows paths, and a few branches in a
// row can multiply them, which makes opening a port slow. The kernel refuses programs
// above a million instructions.
func TestProgramsLoad(t *testing.T) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	const most = 100_000
	for name, load := range loadable() {
		t.Run(name, func(t *testing.T) {
			c, programs, err := load()
			if err != nil {
				t.Fatalf("%+v", err)
			}
			defer c.Close()
			for name, program := range programs {
				info, err := program.Info()
				if err != nil {
					t.Fatal(err)
				}
				n, ok := info.VerifiedInstructions()
				if !ok || n > most {
					t.Errorf("the verifier follows %d instructions of %s (known: %v), want at most %d: find the branches that multiply its paths", n, name, ok, most)
				}
				t.Logf("Linux %s: %s: %d instructions verified", unix.ByteSliceToString(u.Release[:]), name, n)
			}
		})
	}
}

// A driver without native XDP, as that of a macvlan, gets other programs, and everything
// that is sent is received.
func TestGenericReceive(t *testing.T) {
	t.Setenv(transmitVariable, "")
	bed := newBed(t)
	bed.veth("v1", "v2", bed.tester)
	parent := bed.up(bed.nl, "v1")
	for _, name := range []string{"m1", "m2"} {
		if err := bed.nl.LinkAdd(&netlink.Macvlan{LinkAttrs: netlink.LinkAttrs{Name: name, ParentIndex: parent.Attrs().Index}, Mode: netlink.MACVLAN_MODE_BRIDGE}); err != nil {
			t.Fatal(err)
		}
	}
	e := bed.open(Port{Name: "p1", Interface: "m1"}, Port{Name: "p2", Interface: "m2"})
	port := e.ports.named("p2")
	if port.receive.attached.programs.Frags {
		t.Error("the program takes frames in several buffers, which generic XDP has no use for")
	}
	if notes := strings.Join(port.notes, "\n"); !strings.Contains(notes, "received by generic XDP, which is slower, because the driver macvlan refused native XDP: ") {
		t.Errorf("notes %q", notes)
	}
	m := bed.run(e, []traffic.Stream{stream(1, e)}, traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 10_000, PerNanos: 1e9}, Frames: 1000}}}, arrived)
	if sent(m) != 1000 || received(m) != 1000 {
		t.Errorf("sent %d, received %d, want 1000", sent(m), received(m))
	}
	want := []string{"p1 were sent through a packet socket", "p2 were received by generic XDP, which is slower, because the driver macvlan refused native XDP: "}
	notes := notesOf(m, traffic.NoteFallback)
	if len(notes) != len(want) {
		t.Fatalf("notes %q, want %q", notes, want)
	}
	for i, n := range notes {
		if !strings.Contains(n, want[i]) {
			t.Errorf("note %q, want %q in it", n, want[i])
		}
	}
	// Streams that need more room replace the programs of a port.
	var streams []traffic.Stream
	for id := range uint16(20) {
		streams = append(streams, stream(id+1, e))
	}
	if err := e.Configure(t.Context(), streams); err != nil || port.receive.attached.programs.Frags {
		t.Errorf("frags %v, %v", port.receive.attached.programs.Frags, err)
	}
}

// The kernel takes some tenths of a second to load programs: few streams fit into the programs that an engine loads when it opens.
func TestFewStreamsNeedNoFurtherPrograms(t *testing.T) {
	bed := newBed(t)
	e := bed.backToBack()
	p := e.ports.named("p2")
	first := p.receive.attached.programs
	var streams []traffic.Stream
	for n := range fewStreams + 1 {
		streams = append(streams, stream(uint16(n+1), e))
	}
	if err := e.Configure(t.Context(), streams[:fewStreams]); err != nil || p.receive.attached.programs != first {
		t.Errorf("%d streams have further programs, %v", fewStreams, err)
	}
	if err := e.Configure(t.Context(), streams); err != nil || p.receive.attached.programs == first {
		t.Errorf("%d streams have no room, %v", len(streams), err)
	}
}
