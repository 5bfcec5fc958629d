package sim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
)

// Port is a port of the modeled tester.
type Port struct {
	// Name of the port in the bed.
	Name string
	// BitsPerSecond is its nominal speed.
	BitsPerSecond int64
}

// Engine is a Generator on a modeled device.
type Engine struct {
	model *Model
	ports map[string]Port
	order []string
	// index of every port in order.
	index map[string]int
	clock *Clock
	seed  uint64
	mute  bool
	// behaviour of the device beyond forwarding.
	behaviour v1alpha1.SimulatedBehaviour
	// forwards is to how many routes the device forwards; nil for all that it holds.
	forwards *int64
	// jitterAvg and jitterMax by load; nil when the model alone says it.
	jitterAvg, jitterMax *JitterTable
	// table of the addresses that the device has learnt.
	table addressTable
	// forgets reports whether it was reset since the trial began, and deafUntil when, since
	// the epoch, the last reset was over.
	forgets   bool
	deafUntil time.Duration
	// groups that the device forwards to which ports, and when.
	groups groupTable
	// rib is the device's table of routes, and speaker the tester's sessions with it.
	rib     *rib
	speaker *speaker
	// losses of sessions that are to come.
	losses []sessionLoss
	// resets of the device: when it forwards nothing.
	resets []window

	streams []traffic.Stream
	// rows are the behaviors of the streams' sizes, and row is the one that holds:
	// of the only size, or of a mix at a port.
	rows map[int]row
	row  row

	trial    *traffic.Trial
	number   uint64
	start    time.Time
	length   time.Duration
	stopped  time.Time
	balances balances
}

var (
	_ traffic.Generator   = (*Engine)(nil)
	_ traffic.Sampler     = (*Engine)(nil)
	_ traffic.GroupMember = (*Engine)(nil)
)

// Option changes an Engine.
type Option func(*Engine)

// WithPace lets x simulated seconds pass in a real one. Without it, or at 0,
// simulated time costs nothing.
func WithPace(x float64) Option { return func(e *Engine) { e.clock.pace = x } }

// WithSeed sets the seed of the noise that the model may ask for.
func WithSeed(seed uint64) Option { return func(e *Engine) { e.seed = seed } }

// WithMuteNeighbours makes every request for a hardware address fail, as if the
// device were off.
func WithMuteNeighbours() Option { return func(e *Engine) { e.mute = true } }

// WithBehaviour gives the device a behavior beyond forwarding.
func WithBehaviour(b v1alpha1.SimulatedBehaviour) Option {
	return func(e *Engine) { e.behaviour = b }
}

// WithForwardingCapacity makes the device forward to so many routes at most. It takes and
// advertises further ones, and drops the frames to them.
func WithForwardingCapacity(routes int64) Option {
	return func(e *Engine) { e.forwards = &routes }
}

// epoch is the time at which simulated time begins; any fixed time makes runs repeatable.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// New makes an engine from the text of a model and the tester's ports. It fails
// when the model cannot be read or a port is given twice.
func New(model string, ports []Port, opts ...Option) (*Engine, error) {
	m, err := ParseModel(model)
	if err != nil {
		return nil, err
	}
	e := &Engine{model: m, ports: map[string]Port{}, index: map[string]int{}, clock: newClock(), seed: 1, groups: groupTable{}}
	for _, p := range ports {
		if _, ok := e.ports[p.Name]; ok || p.BitsPerSecond <= 0 {
			return nil, fmt.Errorf("port %q of %d bit/s: give every port a name of its own and a speed above 0", p.Name, p.BitsPerSecond)
		}
		e.ports[p.Name] = p
		e.index[p.Name] = len(e.order)
		e.order = append(e.order, p.Name)
	}
	for _, o := range opts {
		o(e)
	}
	e.rib, e.speaker = newRIB(e.behaviour, e.forwards), &speaker{e: e}
	return e, nil
}

// Info describes the modeled tester.
func (e *Engine) Info(context.Context) (traffic.Info, error) {
	caps, _ := capability.Of("sim")
	info := traffic.Info{
		Engine: "sim", Detail: "modelled device and tester in simulated time", Capabilities: caps,
		Hosts: []traffic.Host{{Name: "simulated"}},
	}
	for i, name := range e.order {
		info.Ports = append(info.Ports, traffic.PortInfo{Name: name, MAC: address(0, i)})
	}
	return info, nil
}

// address makes a locally administered hardware address.
func address(side byte, i int) traffic.MAC {
	return traffic.MAC{0x02, 0x00, 0x5e, side, byte(i >> 8), byte(i)}
}

// Resolve answers at once with the address of the device's port.
func (e *Engine) Resolve(ctx context.Context, port string, addr netip.Addr) (traffic.MAC, error) {
	if err := context.Cause(ctx); err != nil {
		return traffic.MAC{}, err
	}
	for i, name := range e.order {
		if name == port && !e.mute {
			return address(1, i), nil
		}
	}
	return traffic.MAC{}, &traffic.UnresolvedError{Port: port, Addr: addr}
}

// Configure takes the streams; the model must know their frame sizes.
func (e *Engine) Configure(_ context.Context, streams []traffic.Stream) error {
	if len(streams) == 0 {
		return errors.New("no stream was given")
	}
	rows, err := e.model.behaviours(streams)
	if err != nil {
		return err
	}
	for _, s := range streams {
		for _, name := range append([]string{s.TxPort}, s.RxPorts...) {
			if _, ok := e.ports[name]; !ok {
				return fmt.Errorf("stream %d uses port %q, which the engine does not have", s.ID, name)
			}
		}
	}
	e.learn()
	e.streams, e.rows, e.row, e.trial = streams, rows, rows[streams[0].FrameSize], nil
	return nil
}

// Start begins a trial.
func (e *Engine) Start(ctx context.Context, trial traffic.Trial) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if e.streams == nil {
		return errors.New("starting a trial: no stream is configured")
	}
	e.learn()
	e.lose()
	e.trial, e.start, e.stopped = &trial, e.clock.Now(), time.Time{}
	e.forgetThePast()
	e.number++
	e.length = e.sendingTime()
	return nil
}

// Wait lets simulated time pass until all is sent.
func (e *Engine) Wait(ctx context.Context) error {
	if e.trial == nil || !e.stopped.IsZero() {
		return nil
	}
	end := e.start.Add(e.length)
	if err := e.clock.Sleep(ctx, end.Sub(e.clock.Now())); err != nil {
		return err
	}
	e.stopped = end
	return nil
}

// Stop ends sending now.
func (e *Engine) Stop(context.Context) error {
	if e.trial != nil && e.stopped.IsZero() {
		e.stopped = e.clock.Now()
		e.length = min(e.length, e.stopped.Sub(e.start))
	}
	return nil
}

// Read returns what the trial counted.
func (e *Engine) Read(ctx context.Context) (traffic.Measurement, error) {
	if err := context.Cause(ctx); err != nil {
		return traffic.Measurement{}, err
	}
	if e.trial == nil {
		return traffic.Measurement{}, errors.New("reading counters: no trial was started")
	}
	e.lose()
	return e.measure(), nil
}

// Sample implements traffic.Sampler.
func (e *Engine) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	if e.trial == nil {
		return errors.New("sampling: no trial was started")
	}
	return s.Each(ctx, e.clock, e.start, func(interval int) (time.Duration, error) {
		sample, err := e.sample(ctx, s.Ports)
		if err == nil {
			sample.Interval = interval
			take(sample)
		}
		return 0, err
	})
}

// sample is the totals of the trial up to now, and what each port has of them if that is
// asked for.
func (e *Engine) sample(ctx context.Context, ports bool) (traffic.Sample, error) {
	m, err := e.Read(ctx)
	s := traffic.Sample{At: min(e.length, e.clock.Now().Sub(e.start))}
	for _, tx := range m.Tx {
		s.Sent += tx.Sent
	}
	for _, rx := range m.Rx {
		s.Received += rx.Received
	}
	if ports && err == nil {
		s.Ports = e.samplePorts(m)
	}
	return s, err
}

// samplePorts returns the counts of each port.
func (e *Engine) samplePorts(m traffic.Measurement) *traffic.PortSamples {
	all := traffic.NewPortSamples()
	for i := range e.streams {
		s := &e.streams[i]
		tx, sends := m.Tx[s.ID]
		if !sends {
			continue
		}
		all.Sent(s, tx.Sent)
		for _, port := range s.RxPorts {
			all.Received(s, port, m.Rx[traffic.RxKey{Stream: s.ID, Port: port}])
		}
	}
	return all
}

// Clock is the simulated time.
func (e *Engine) Clock() traffic.Clock { return e.clock }

// Close does nothing: the engine holds nothing.
func (e *Engine) Close() error { return nil }
