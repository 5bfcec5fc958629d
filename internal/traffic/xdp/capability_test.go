package xdp

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
)

// needed are the capabilities that a container must be given, in the numbers of
// linux/capability.h.
var needed = map[string]uintptr{
	"NET_ADMIN": unix.CAP_NET_ADMIN, // links, addresses, neighbors, attaching XDP
	"NET_RAW":   unix.CAP_NET_RAW,   // packet sockets, where a device takes no XDP frames
	"BPF":       unix.CAP_BPF,       // loading and running BPF programs
	"PERFMON":   unix.CAP_PERFMON,   // following the kernel's XDP tracepoints
}

const childVariable = "NODROP_TEST_CAPABILITIES_CHILD"

// Root without any other capability opens ports, and sends and receives by XDP and through a
// packet socket; without one of them the error names what it lacks.
func TestCapabilities(t *testing.T) {
	t.Setenv(transmitVariable, "")
	if path := os.Getenv(childVariable); path != "" {
		sendWithFewCapabilities(t)
		return
	}
	bed := newBed(t)
	d := bed.device()
	d.bridge()
	d.gro("d1", false)
	d.gro("d2", true)

	all := []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_BPF, unix.CAP_PERFMON}
	if out, err := child(bed.tester, all); err != nil {
		t.Errorf("with exactly %d capabilities: %v\n%s", len(all), err, out)
	}
	for name, capability := range needed {
		out, err := child(bed.tester, slices.DeleteFunc(slices.Clone(all), func(c uintptr) bool { return c == capability }))
		if err == nil {
			t.Errorf("it works without %s", name)
		}
		for line := range strings.Lines(out) {
			if strings.Contains(line, "_test.go") {
				t.Logf("without %s: %s", name, strings.TrimSpace(line))
			}
		}
	}
}

// child runs this test again in the same namespace, as root with some
// capabilities only.
func child(at netns.NsHandle, capabilities []uintptr) (string, error) {
	c := exec.Command(os.Args[0], "-test.run=^TestCapabilities$", "-test.v")
	c.Env = append(os.Environ(), childVariable+"=1")
	var out []byte
	// The bounding set belongs to the thread; so the thread that drops ends here.
	result := make(chan error)
	go func() {
		result <- func() error {
			runtime.LockOSThread()
			if err := netns.Set(at); err != nil {
				return err
			}
			for i := uintptr(0); unix.Prctl(unix.PR_CAPBSET_READ, i, 0, 0, 0) == nil; i++ {
				if slices.Contains(capabilities, i) {
					continue
				}
				if err := unix.Prctl(unix.PR_CAPBSET_DROP, i, 0, 0, 0); err != nil {
					return fmt.Errorf("dropping capability %d: %w", i, err)
				}
			}
			var err error
			out, err = c.CombinedOutput()
			return err
		}()
	}()
	err := <-result
	return string(out), err
}

func sendWithFewCapabilities(t *testing.T) {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "CapEff") {
			t.Log(line)
		}
	}
	e, err := New(Options{Host: "test", Ports: []Port{
		{Name: "p1", Interface: "v1", Addresses: prefixes("198.18.1.2/24")},
		{Name: "p2", Interface: "v2", Addresses: prefixes("198.18.1.3/24", "2001:2::1/64")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	bed := &bed{T: t}
	there, back := stream(1, e), stream(2, e)
	back.TxPort, back.RxPorts = "p2", []string{"p1"}
	back.Headers.SrcMAC, back.Headers.DstMAC = there.Headers.DstMAC, there.Headers.SrcMAC
	back.Headers.DstMACCount = 2 // needs the promiscuous mode
	if _, err := e.Join(t.Context(), []traffic.Membership{join("p1", "239.1.0.1", 1), join("p2", "ff35::1", 1)}); err != nil {
		t.Fatal(err)
	}
	load := traffic.Load{Rate: traffic.Rate{Frames: 10, PerNanos: 1e6}, Frames: 1000}
	m := bed.run(e, []traffic.Stream{there, back}, traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}, arrived)
	if !arrived(m) || sent(m) != 2000 {
		t.Errorf("sent %d, received %d", sent(m), received(m))
	}
	if *e.ports.named("p1").send.fallback.Load() == "" || *e.ports.named("p2").send.fallback.Load() != "" {
		t.Error("p1 should have sent through a packet socket, p2 by XDP")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
