package kernelstack

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/workload"
)

// newWideBed makes a Linux bridge or router with so many ports, to each of which it sends 50 Mbit/s, and 5 Mbit/s to a slow one.
func newWideBed(t *testing.T, ports int, slow string, gateways bool) *Engine {
	namespacetest.Enter(t)
	var device []v1alpha1.Port
	var own []workload.Port
	for i := range ports {
		p := v1alpha1.Port{Name: fmt.Sprintf("p%d", i+1), Addresses: []string{fmt.Sprintf("198.18.%d.2/24", i+1)}, DeviceQueue: &v1alpha1.DeviceQueue{Rate: "50M", BufferBytes: 1_000_000}}
		if p.Name == slow {
			p.DeviceQueue.Rate = "5M"
		}
		one := workload.Port{Name: p.Name, Interface: p.Name, Address: netip.MustParsePrefix(p.Addresses[0])}
		if gateways {
			one.Gateway = one.Address.Masked().Addr().Next()
			p.Gateways = []string{one.Gateway.String()}
		}
		device, own = append(device, p), append(own, one)
	}
	d := dut.NewNetns(device)
	if err := d.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	engine, err := New(own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// operation returns an operation of hosts on ports p1 to pN.
func operation(a workload.Algorithm, ports, hosts int, bytes int64) workload.CollectiveRequest {
	r := workload.CollectiveRequest{Algorithm: a, Hosts: hosts, Bytes: bytes, Repetitions: 3, WarmUp: 1, MTU: 1500, CongestionControl: "reno"}
	for i := range ports {
		r.Ports = append(r.Ports, fmt.Sprintf("p%d", i+1))
	}
	return r
}

// run runs an operation, and checks what each result has.
func (e *Engine) run(t *testing.T, r workload.CollectiveRequest) (workload.Collective, *workload.Slowest) {
	t.Helper()
	found, err := e.Collective(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	slowest := r.Slowest(found)
	t.Logf("%s of %d bytes on %d hosts: %s, slowest %+v, probes %+v, %d retransmissions, %+v", r.Algorithm, r.Bytes, r.Hosts, found.Completions, slowest, found.Probes, found.Retransmissions, found.Limits)
	if found.Wrong > 0 || found.Example != "" {
		t.Errorf("%d wrong results: %s", found.Wrong, found.Example)
	}
	if texts := r.Differences(found.Settings); len(texts) > 0 {
		t.Errorf("%q", texts)
	}
	if len(found.Completions) != r.Repetitions || len(found.Steps) != r.Steps() {
		t.Errorf("%d repetitions of %d steps", len(found.Completions), len(found.Steps))
	}
	for n, completion := range found.Completions {
		for _, step := range found.Steps {
			if step[n] <= 0 {
				t.Errorf("a step took %s", step[n])
			}
			completion -= step[n]
		}
		if completion != 0 {
			t.Errorf("repetition %d took %s more than its steps", n, completion)
		}
	}
	return found, slowest
}

// TestRingNamesTheSlowPort sums on eight ports, of which the device slows one to a tenth, and on the same ports without it.
func TestRingNamesTheSlowPort(t *testing.T) {
	const slow = "p4"
	r := operation(workload.RingAllReduce, 8, 8, 800_000)
	_, s := newWideBed(t, 8, slow, true).run(t, r)
	if s == nil || !s.Slow || s.Port != slow || !s.Out || r.Port(s.From) != "p3" || r.Port(s.To) != slow {
		t.Errorf("slowest %+v, want the link from p3 to %s, and that port", s, slow)
	}
}

func TestNoPortIsSlow(t *testing.T) {
	e := newWideBed(t, 8, "", true)
	for _, a := range []workload.Algorithm{workload.RingAllReduce, workload.TreeAllReduce, workload.AllToAll} {
		found, s := e.run(t, operation(a, 8, 8, 800_000))
		if s == nil || s.Slow || s.Port != "" || found.Probes != nil {
			t.Errorf("%s: slowest %+v, want no port", a, s)
		}
	}
}

func TestAllToAllAndTreeNameTheSlowPort(t *testing.T) {
	longtest.Skip(t, "TestRingNamesTheSlowPort, and TestRunCollectives of cmd/nodrop")
	const slow = "p4"
	e := newWideBed(t, 8, slow, true)
	for _, a := range []workload.Algorithm{workload.TreeAllReduce, workload.AllToAll} {
		_, s := e.run(t, operation(a, 8, 8, 800_000))
		if s == nil || !s.Slow || s.Port != slow || !s.Out {
			t.Errorf("%s: slowest %+v, want port %s", a, s, slow)
		}
	}
}

// TestHostsShareAPort has hosts on one port that reach each other without the device.
func TestHostsShareAPort(t *testing.T) {
	for _, gateways := range []bool{false, true} {
		t.Run(fmt.Sprintf("gateways %v", gateways), func(t *testing.T) {
			e := newWideBed(t, 2, "", gateways)
			for _, a := range []workload.Algorithm{workload.RingAllReduce, workload.TreeAllReduce, workload.AllToAll} {
				e.run(t, operation(a, 2, 5, 40_008))
			}
		})
	}
}

func TestCollectivesExplainWhatIsMissing(t *testing.T) {
	e := newWideBed(t, 2, "", false)
	for name, tc := range map[string]struct {
		change func(*workload.CollectiveRequest)
		want   string
	}{
		"a congestion control": {func(r *workload.CollectiveRequest) { r.CongestionControl = "vegetable" }, "congestionControl is vegetable, and the kernel of the hosts has reno"},
		"an MTU":               {func(r *workload.CollectiveRequest) { r.MTU = 20_000 }, "interface p1 has an MTU of 9198 bytes, and the test asks for 20000"},
		"hosts":                {func(r *workload.CollectiveRequest) { r.Hosts = 1 }, "give 2 to 64"},
		"a port":               {func(r *workload.CollectiveRequest) { r.Ports[1] = "p9" }, "port p9 is not known"},
	} {
		r := operation(workload.RingAllReduce, 2, 2, 800)
		tc.change(&r)
		if _, err := e.Collective(t.Context(), r); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Collective(ctx, operation(workload.RingAllReduce, 2, 2, 800)); err == nil {
		t.Error("a cancelled operation succeeded")
	}
}

// TestWrongResultsAreSeen changes a bit of each result in turn.
func TestWrongResultsAreSeen(t *testing.T) {
	for _, a := range []workload.Algorithm{workload.RingAllReduce, workload.AllToAll} {
		run := &collective{request: operation(a, 2, 3, 80)}
		for range 3 {
			run.members = append(run.members, &member{host: &host{port: "p1"}})
		}
		run.allocate()
		const repetition = 5
		run.fill(repetition)
		for _, one := range run.request.Schedule() { // without hosts
			part := run.members[one.From].message[one.Source : one.Source+one.Bytes]
			(&transfer{Transfer: one, landing: append([]byte(nil), part...)}).land(run.members[one.To].result)
		}
		var right workload.Collective
		if run.check(repetition, &right); right.Wrong != 0 {
			t.Fatalf("%s: %s", a, right.Example)
		}
		var stale workload.Collective
		if run.check(repetition+1, &stale); stale.Wrong != 3 {
			t.Errorf("%s: %d stale results", a, stale.Wrong)
		}
		for host, m := range run.members {
			for place := range m.result {
				var out workload.Collective
				m.result[place] ^= 1
				run.check(repetition, &out)
				m.result[place] ^= 1
				if want := fmt.Sprintf("host %d on port p1 has ", host+1); out.Wrong != 1 || !strings.Contains(out.Example, want) || !strings.Contains(out.Example, fmt.Sprintf("at place %d of its result in repetition 6", place/8)) {
					t.Fatalf("%s: %d wrong results, %q", a, out.Wrong, out.Example)
				}
			}
		}
	}
}

// TestRingNamesThePortThatSendsSlowly slows what hosts of a port send to the device.
func TestRingNamesThePortThatSendsSlowly(t *testing.T) {
	longtest.Skip(t, "TestRingNamesTheSlowPort")
	const slow = "p4"
	e := newWideBed(t, 8, "", true)
	link, err := netlink.LinkByName(slow)
	if err != nil {
		t.Fatal(err)
	}
	queue := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       5_000_000 / 8, Limit: 1_000_000,
	}
	queue.Buffer = netlink.Xmittime(queue.Rate, 16_384)
	if err := netlink.QdiscAdd(queue); err != nil {
		t.Fatal(err)
	}
	r := operation(workload.RingAllReduce, 8, 8, 800_000)
	_, s := e.run(t, r)
	if s == nil || !s.Slow || s.Port != slow || s.Out || r.Port(s.From) != slow || r.Port(s.To) != "p5" {
		t.Errorf("slowest %+v, want the link from %s to p5, and that port", s, slow)
	}
}
