package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

const uid = "0c5f"

// patience bounds the waits of tests; nothing is asserted about time.
const patience = 2 * time.Minute

// cable is a fake network: what one fake engine sends arrives at once at the
// engine that owns the receiving port.
type cable struct {
	mu      sync.Mutex
	engines []*fakeEngine
}

// fakeEngine counts like a real engine: only frames of the trial that it is in,
// and its counters are cleared when a trial starts that was not armed.
type fakeEngine struct {
	cable *cable
	host  string
	ports []string

	// Guarded by cable.mu.
	streams  []traffic.Stream
	epoch    uint16
	armed    bool
	intended traffic.Trial
	m        traffic.Measurement
	sending  chan struct{}
	members  []traffic.Membership
	log      []string

	resolve func(ctx context.Context, port string, addr netip.Addr) (traffic.MAC, error)
	info    func(*traffic.Info)
	// sample, when set, makes the sampling fail.
	sample func(interval int) error
	// users counts concurrent users, and others, guarded by cable.mu, those of them
	// whose calls may run while others do. All other calls must run alone.
	users  atomic.Int32
	others int32
	torn   atomic.Bool
}

func (c *cable) engine(host string, ports ...string) *fakeEngine {
	e := &fakeEngine{cable: c, host: host, ports: ports}
	c.engines = append(c.engines, e)
	return e
}

// enter notes a call that must run alone.
func (e *fakeEngine) enter(what string) func() { return e.use(what, 0) }

// concurrent notes a call that may run while others of its kind do.
func (e *fakeEngine) concurrent(what string) func() { return e.use(what, 1) }

func (e *fakeEngine) use(what string, other int32) func() {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	e.log = append(e.log, what)
	e.others += other
	if users := e.users.Add(1); users > max(1, e.others) || users > 1 && other == 0 {
		e.torn.Store(true)
	}
	return func() {
		e.cable.mu.Lock()
		defer e.cable.mu.Unlock()
		e.others -= other
		e.users.Add(-1)
	}
}

func (e *fakeEngine) Info(context.Context) (traffic.Info, error) {
	defer e.enter("info")()
	info := traffic.Info{
		Engine: "xdp", Detail: "fake on " + e.host,
		Hosts:        []traffic.Host{{Name: e.host, Kernel: "6.0", CPU: "abacus", CPUs: 2}},
		Capabilities: capability.Running("xdp", traffic.Limits{MaxStreams: 65536, MaxFrameSize: 9216, LatencyType: "first bit to first bit"}),
	}
	for i, p := range e.ports {
		info.Ports = append(info.Ports, traffic.PortInfo{Name: p, Interface: "eth-" + p, Driver: "fake", Hypervisor: "QEMU Standard PC", Emulated: "QEMU", MAC: traffic.MAC{2, 0, 0, 0, 0, byte(i)}, Notes: []string{"slow"},
			Card: &traffic.Card{DriverVersion: "7.3", Firmware: "2.1.0", PCIe: "2.5 GT/s PCIe x1", NUMANode: new(int), InterruptCPUs: []int{0, 3}, ReceiveRing: 256, TransmitRing: 512,
				Coalescing: "receive 3 µs", ReceiveQueues: 2, TestQueue: new(1), Pause: "off"}})
	}
	if e.info != nil {
		e.info(&info)
	}
	return info, nil
}

func (e *fakeEngine) Microflows(_ context.Context, _ traffic.RxKey, take func(traffic.MicroflowPart) error) error {
	defer e.concurrent("microflows")()
	return take(traffic.MicroflowPart{Records: []traffic.MicroflowRecord{{}, {Received: 3, Last: 7}}, FirstNs: []uint64{0, 5}})
}

func (e *fakeEngine) SumMicroflows(context.Context, map[uint16]traffic.TxCount, int) ([]traffic.MicroflowSum, error) {
	defer e.enter("sum of microflows")()
	return nil, nil
}

func (e *fakeEngine) Resolve(ctx context.Context, port string, addr netip.Addr) (traffic.MAC, error) {
	defer e.enter("resolve")()
	return e.resolve(ctx, port, addr)
}

func (e *fakeEngine) Configure(_ context.Context, streams []traffic.Stream) error {
	defer e.enter("configure")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	e.streams = streams
	return nil
}

func (e *fakeEngine) clear(epoch uint16) {
	e.epoch = epoch
	e.m = traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
}

func (e *fakeEngine) Arm(_ context.Context, trial traffic.Trial) error {
	defer e.enter("arm")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	e.clear(trial.Epoch)
	e.armed, e.intended = true, trial
	return nil
}

// Start sends all frames at once, or goes on until Stop when there is no number.
func (e *fakeEngine) Start(_ context.Context, trial traffic.Trial) error {
	defer e.enter("start")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	if !e.armed || e.epoch != trial.Epoch {
		e.clear(trial.Epoch)
	}
	e.armed = false
	for _, s := range e.streams {
		load, ok := trial.Loads[s.ID]
		if !ok || !slices.Contains(e.ports, s.TxPort) {
			continue
		}
		if load.Frames == 0 {
			e.sending = make(chan struct{})
			continue
		}
		e.m.Tx[s.ID] = traffic.TxCount{Intended: load.Frames, Sent: load.Frames, Duration: trial.Duration}
		e.m.TxTime = trial.Duration
		for _, other := range e.cable.engines {
			for _, port := range s.RxPorts {
				if slices.Contains(other.ports, port) && other.epoch == trial.Epoch && other.m.Rx != nil {
					key := traffic.RxKey{Stream: s.ID, Port: port}
					c := other.m.Rx[key]
					c.Received += load.Frames
					c.Latency = traffic.Latency{Count: c.Received, MinNs: 5, MaxNs: 9, SumNs: 7 * c.Received, JitterCount: 1, JitterMaxNs: 4, JitterSumNs: 4, Buckets: map[uint32]uint64{7: c.Received}}
					other.m.Rx[key] = c
				}
			}
		}
	}
	return nil
}

func (e *fakeEngine) busy() chan struct{} {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	return e.sending
}

func (e *fakeEngine) Wait(ctx context.Context) error {
	defer e.concurrent("wait")()
	if sending := e.busy(); sending != nil {
		select {
		case <-sending:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (e *fakeEngine) Stop(context.Context) error {
	defer e.enter("stop")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	if e.sending != nil {
		close(e.sending)
		e.sending = nil
	}
	return nil
}

func (e *fakeEngine) Read(context.Context) (traffic.Measurement, error) {
	defer e.enter("read")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	if e.m.Tx == nil {
		return traffic.Measurement{}, errors.New("reading counters: there was no trial")
	}
	e.m.Notes = []traffic.Note{{Kind: traffic.NoteForeignLoad, Text: "others ran on " + e.host}}
	return e.m, nil
}

// Sample is the sum of all that was counted, at an invented time, in each interval.
func (e *fakeEngine) Sample(ctx context.Context, sampling traffic.Sampling, take func(traffic.Sample)) error {
	defer e.concurrent("sample")()
	return sampling.Each(ctx, e.Clock(), time.Now(), func(interval int) (time.Duration, error) {
		if e.sample != nil {
			if err := e.sample(interval); err != nil {
				return 0, err
			}
		}
		one := e.counted(interval)
		if sampling.Ports {
			one.Ports, one.Device = e.portSamples(), e.deviceSample()
		}
		take(one)
		return 0, nil
	})
}

// deviceSample returns the sample of a device whose interfaces have other numbers at each
// port.
func (e *fakeEngine) deviceSample() *traffic.DeviceSample {
	d := &traffic.DeviceSample{Processors: &traffic.ProcessorSample{Busy: 3, SoftInterrupts: 2, Total: 5}}
	for _, port := range e.ports {
		n := uint64(port[len(port)-1])
		traffic.Put(&d.Interfaces, port, traffic.InterfaceSample{
			RxFrames: n, RxDropped: 3 * n, RxErrors: 4 * n, TxFrames: 5 * n, TxDropped: 7 * n, TxErrors: 8 * n,
		})
	}
	return d
}

// portSamples is the sum by port, in one class each, with a latency.
func (e *fakeEngine) portSamples() *traffic.PortSamples {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	all := traffic.NewPortSamples()
	for _, s := range e.streams {
		if slices.Contains(e.ports, s.TxPort) {
			all.Sent(&s, e.m.Tx[s.ID].Sent)
			traffic.Put(&all.CaughtUp, s.TxPort, 9)
		}
		for _, port := range s.RxPorts {
			if rx, here := e.m.Rx[traffic.RxKey{Stream: s.ID, Port: port}]; here {
				rx.Next, rx.Duplicate, rx.Reordered = rx.Received+1, 2, 3
				rx.Latency = traffic.Latency{Count: 2, MinNs: 5, MaxNs: 7, SumNs: 12, JitterCount: 1, JitterMaxNs: 2, JitterSumNs: 2, Buckets: map[uint32]uint64{5: 1, 7: 1}}
				all.Received(&s, port, rx)
			}
		}
	}
	return all
}

func (e *fakeEngine) counted(interval int) traffic.Sample {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	s := traffic.Sample{Interval: interval, At: time.Duration(len(e.ports)) * time.Millisecond}
	for _, c := range e.m.Tx {
		s.Sent += c.Sent
	}
	for _, c := range e.m.Rx {
		s.Received += c.Received
	}
	return s
}

// Progress returns the counts, and as many lost frames as the age has nanoseconds.
func (e *fakeEngine) Progress(_ context.Context, age time.Duration) (traffic.Progress, error) {
	defer e.concurrent("progress")()
	s := e.counted(0)
	return traffic.Progress{Expected: s.Sent, Received: s.Received, Lost: uint64(age)}, nil
}

// Join happens at the time 100 and so many memberships.
func (e *fakeEngine) Join(_ context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	defer e.concurrent("join")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	at := traffic.Moments{}
	for _, m := range memberships {
		if !slices.Contains(e.ports, m.Port) {
			return nil, fmt.Errorf("there is no port %s", m.Port)
		}
		e.members = append(e.members, m)
		at[m.Port] = uint64(100 + len(e.members))
	}
	return at, nil
}

// Leave happens at the time 200 and so many memberships.
func (e *fakeEngine) Leave(_ context.Context, memberships []traffic.Membership) (traffic.Moments, error) {
	defer e.concurrent("leave")()
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	at := traffic.Moments{}
	for _, m := range memberships {
		at[m.Port] = uint64(200 + len(e.members))
		e.members = without(e.members, []traffic.Membership{m})
	}
	return at, nil
}

func (e *fakeEngine) memberships() []traffic.Membership {
	e.cable.mu.Lock()
	defer e.cable.mu.Unlock()
	return slices.Clone(e.members)
}

func (e *fakeEngine) Clock() traffic.Clock { return traffic.RealClock{} }
func (e *fakeEngine) Close() error         { return nil }

// lab is a benchmark's certificates.
type lab struct {
	t   *testing.T
	pki pki.Set
}

func newLab(t *testing.T) *lab {
	set, err := pki.Issue(uid, 4, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, pki: set}
}

// serve runs an agent at address until the test or the returned kill ends it.
func (l *lab) serve(n int, address string, gen traffic.Generator) (at string, kill func()) {
	l.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		l.t.Fatal(err)
	}
	config, err := l.pki.Agents[n].ServerConfig(pki.RunnerName(uid))
	if err != nil {
		l.t.Fatal(err)
	}
	server := NewServer(gen, ServerOptions{Beat: 100 * time.Millisecond, Grace: 3 * time.Second})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener, config) }()
	kill = sync.OnceFunc(func() {
		server.Close()
		if err := <-done; err != nil {
			l.t.Errorf("serving agent %d: %v", n, err)
		}
	})
	l.t.Cleanup(kill)
	return listener.Addr().String(), kill
}

func (l *lab) endpoint(n int, address string, ports ...string) Endpoint {
	return Endpoint{Name: pki.AgentName(uid, n), Address: address, Ports: ports}
}

var quick = ClientOptions{Grace: 3 * time.Second, ReturnTimeout: 5 * time.Second}

func (l *lab) dial(ctx context.Context, e Endpoint) *Client {
	l.t.Helper()
	c, err := Dial(ctx, e, l.pki.Runner, quick)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return c
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so after %s: %s", patience, what)
		}
	}
}

// proxy is a network between client and server that can fail.
type proxy struct {
	address string
	frozen  atomic.Bool
	mu      sync.Mutex
	conns   []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &proxy{address: l.Addr().String()}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, near, far)
			p.mu.Unlock()
			go p.pump(near, far)
			go p.pump(far, near)
		}
	}()
	t.Cleanup(p.cut)
	return p
}

// pump copies until either end goes; while frozen it swallows.
func (p *proxy) pump(to, from net.Conn) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if p.frozen.Load() {
			io.Discard.Write(buffer[:n])
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// cut breaks all connections, as the death of a process does.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func pair(id uint16, from, to string) traffic.Stream {
	return traffic.Stream{ID: id, TxPort: from, RxPorts: []string{to}, FrameSize: 64, Headers: traffic.Headers{
		SrcMAC: traffic.MAC{2, 0, 0, 0, 0, 1}, DstMAC: traffic.MAC{2, 0, 0, 0, 0, 2},
		SrcIP: netip.MustParseAddr("198.18.1.2"), DstIP: netip.MustParseAddr("198.18.2.2"),
		SrcIPCount: 1, DstIPCount: 254, SrcPort: 20001, DstPort: 30001, SrcPortCount: 8000, DstPortCount: 7000, TTL: 9, Payload: frame.Alternating,
	}}
}

func frames(n uint64, ids ...uint16) traffic.Trial {
	trial := traffic.Trial{Duration: time.Second, Loads: map[uint16]traffic.Load{}}
	for _, id := range ids {
		trial.Loads[id] = traffic.Load{Rate: traffic.Rate{Frames: 1000, PerNanos: 7}, Frames: n}
	}
	return trial
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", what, err))
	}
}
