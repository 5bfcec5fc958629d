package groundtruth

import (
	"fmt"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// newRPCBed makes a bed with a Linux router. Requests have 1 byte: a packet each.
func newRPCBed(t *testing.T) *hostsBed {
	t.Helper()
	test := v1alpha1.Test{Name: "rpc", RPCLatency: &v1alpha1.RPCLatencyTest{
		MessageSizes: []int32{1}, Requests: 1000, WarmUpRequests: 100, MTU: 1500, CongestionControl: "reno", Background: []v1alpha1.LoadAmount{"40%"}, BackgroundFrameSize: 1518,
	}}
	return newHostsBed(t, test, 1518, routed)
}

// routed gives each port a network of its own, with a gateway.
func routed(i int, port *v1alpha1.Port) {
	port.Addresses, port.Gateways = []string{fmt.Sprintf("198.18.%d.2/24", i+1)}, []string{fmt.Sprintf("198.18.%d.1", i+1)}
}

// rows runs the benchmark, and returns the rows without and with background.
func (b *hostsBed) rows() [2]v1alpha1.ResultRow {
	b.Helper()
	state := runner.Run(b.Context(), b.config, b.engine, runner.WithDevice(b.device), runner.WithWorkload(b.hosts))
	if len(state.Rows) != 2 || state.Rows[0].RPCLatency == nil || state.Rows[1].RPCLatency == nil {
		b.Fatalf("%d rows: %s", len(state.Rows), state.Message)
	}
	return [2]v1alpha1.ResultRow(state.Rows)
}

// hold makes the device hold each packet of TCP that leaves by any port for a time, up to 50 µs. It returns what
// ends this.
func (b *hostsBed) hold(d time.Duration) (release func()) {
	b.Helper()
	const rounds = 7000 // the verifier of the kernel follows each
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Dual MIT/GPL", Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadAbs(12, asm.Half), asm.JNE.Imm(asm.R0, 0x0800, "end"), // IPv4
		asm.LoadAbs(23, asm.Byte), asm.JNE.Imm(asm.R0, 6, "end"), // TCP
		asm.FnKtimeGetNs.Call(), asm.Mov.Reg(asm.R7, asm.R0), asm.Mov.Imm(asm.R8, 0),
		asm.FnKtimeGetNs.Call().WithSymbol("wait"), asm.Sub.Reg(asm.R0, asm.R7), asm.JGE.Imm(asm.R0, int32(d), "end"),
		asm.Add.Imm(asm.R8, 1), asm.JLT.Imm(asm.R8, rounds, "wait"),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return(),
	}})
	if err != nil {
		b.Fatal(err)
	}
	defer program.Close()
	var attached []link.Link
	err = netif.In(b.device.Namespace(), func() error {
		for _, p := range b.config.Bed.Spec.Ports {
			l, err := netlink.LinkByName(p.Name)
			if err != nil {
				return err
			}
			one, err := link.AttachTCX(link.TCXOptions{Program: program, Interface: l.Attrs().Index, Attach: ebpf.AttachTCXEgress})
			if err != nil {
				return err
			}
			attached = append(attached, one)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		for _, l := range attached {
			if err := l.Close(); err != nil {
				b.Error(err)
			}
		}
	}
}

// TestDeviceShareOfRequests measures a Linux router, and the same router which holds each packet for 50 µs: a round trip has two. The
// shares differ by 100 µs, within their intervals and what the packets wait otherwise, without background and with it.
func TestDeviceShareOfRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("sends real frames")
	}
	b := newRPCBed(t)
	const added, accuracy = 100 * time.Microsecond, 3 * time.Microsecond
	compared := [2]int{}
	for range 6 {
		plain := b.rows()
		release := b.hold(added / 2)
		held := b.rows()
		release()
		for i := range plain {
			p, h := plain[i].RPCLatency, held[i].RPCLatency
			low, high := time.Duration(h.Device.LowNs-p.Device.HighNs), time.Duration(h.Device.HighNs-p.Device.LowNs)
			marked := plain[i].Validity == v1alpha1.ValidityGeneratorBound || held[i].Validity == v1alpha1.ValidityGeneratorBound
			t.Logf("%s: share %+v, and held %+v: %s more, %s to %s, %d and %d ppm busy, marked: %v, background %+v", plain[i].Name(), *p.Device, *h.Device, time.Duration(h.Device.Ns-p.Device.Ns), low, high, p.BusyPPM, h.BusyPPM, marked, h.Background)
			if marked {
				continue
			}
			if compared[i]++; low > added+accuracy || high < added-accuracy {
				t.Errorf("%s: the router that holds packets for %s more in a round trip has a share that is %s to %s higher", plain[i].Name(), added, low, high)
			}
			if bg := h.Background; (bg != nil) != (i == 1) || bg != nil && bg.Sent == 0 {
				t.Errorf("%s: background %+v", held[i].Name(), bg)
			}
		}
		if compared[0] > 0 && compared[1] > 0 {
			return
		}
	}
	t.Skipf("others kept the processors busy: %v comparisons without and with background: measure with other programs stopped", compared)
}
