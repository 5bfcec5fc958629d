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

// tester contains the ports of the modeled tester.
type tester struct {
	ports map[string]Port
	order []string
	// index of every port in order.
	index map[string]int
}

// Engine is a Generator on a modeled device.
type Engine struct {
	model  *Model
	tester tester
	clock  *Clock
	mute   bool
	dut    dut
	// speaker is the tester's sessions with the device.
	speaker  speaker
	run      trialRun
	balances balances
	// forwarding computes what the run counts behind the device.
	forwarding forwarding
	// variation lets the device differ from trial to trial.
	variation variation
}

var (
	_ traffic.Generator        = (*Engine)(nil)
	_ traffic.Sampler          = (*Engine)(nil)
	_ traffic.GroupMember      = (*Engine)(nil)
	_ traffic.MicroflowCounter = (*Engine)(nil)
)

// Option changes an Engine.
type Option func(*Engine)

// WithPace lets x simulated seconds pass in a real one. Without it, or at 0,
// simulated time costs nothing.
func WithPace(x float64) Option { return func(e *Engine) { e.clock.pace = x } }

// WithSeed sets the seed of the noise that the model may ask for.
func WithSeed(seed uint64) Option { return func(e *Engine) { e.run.handling.seed = seed } }

// WithMuteNeighbours makes every request for a hardware address fail, as if the
// device were off.
func WithMuteNeighbours() Option { return func(e *Engine) { e.mute = true } }

// WithBehaviour gives the device a behavior beyond forwarding.
func WithBehaviour(b v1alpha1.SimulatedBehaviour) Option {
	return func(e *Engine) { e.dut.behaviour = b }
}

// WithForwardingCapacity makes the device forward to so many routes at most. It takes and
// advertises further ones, and drops the frames to them.
func WithForwardingCapacity(routes int64) Option {
	return func(e *Engine) { e.dut.forwards = &routes }
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
	e := &Engine{model: m, tester: tester{ports: map[string]Port{}, index: map[string]int{}}, clock: newClock()}
	e.dut = dut{clock: e.clock, groups: groupTable{}}
	e.speaker = speaker{tester: &e.tester, dut: &e.dut}
	e.run = trialRun{tester: &e.tester, handling: handling{tester: &e.tester, known: map[rateAt]traffic.Rate{}, seed: 1}}
	e.forwarding = forwarding{run: &e.run, dut: &e.dut}
	for _, p := range ports {
		if _, ok := e.tester.ports[p.Name]; ok || p.BitsPerSecond <= 0 {
			return nil, fmt.Errorf("port %q of %d bit/s: give every port a name of its own and a speed above 0", p.Name, p.BitsPerSecond)
		}
		e.tester.ports[p.Name] = p
		e.tester.index[p.Name] = len(e.tester.order)
		e.tester.order = append(e.tester.order, p.Name)
	}
	for _, o := range opts {
		o(e)
	}
	if e.dut.forwards != nil {
		e.dut.behaviour.FIBCapacity = e.dut.forwards
	}
	e.dut.rib = newRIB(e.dut.behaviour, e.tester.order)
	return e, nil
}

// Info describes the modeled tester.
func (e *Engine) Info(context.Context) (traffic.Info, error) {
	caps, _ := capability.Of("sim")
	info := traffic.Info{
		Engine: "sim", Detail: "modelled device and tester in simulated time", Capabilities: caps,
		Hosts: []traffic.Host{{Name: "simulated"}},
	}
	for i, name := range e.tester.order {
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
	for i, name := range e.tester.order {
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
			if _, ok := e.tester.ports[name]; !ok {
				return fmt.Errorf("stream %d uses port %q, which the engine does not have", s.ID, name)
			}
		}
	}
	if err := checkMicroflows(streams); err != nil {
		return err
	}
	e.forwarding.learn()
	e.run.streams, e.run.handling.rows, e.run.handling.row, e.run.trial = streams, rows, rows[streams[0].FrameSize], nil
	e.variation.rows = rows
	return nil
}

// Start begins a trial.
func (e *Engine) Start(ctx context.Context, trial traffic.Trial) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if e.run.streams == nil {
		return errors.New("starting a trial: no stream is configured")
	}
	e.forwarding.learn()
	e.speaker.lose()
	e.run.start, e.run.stopped = e.clock.Now(), time.Time{}
	e.dut.forgetThePast()
	e.forwarding.crowded = crowded{}
	e.run.handling.number++
	e.vary()
	trial = e.run.begin(trial)
	e.run.trial = &trial
	e.run.length = e.run.sendingTime()
	if trial.Duration <= 0 {
		e.run.length += e.run.faults.behind()
	}
	return nil
}

// Wait lets simulated time pass until all is sent.
func (e *Engine) Wait(ctx context.Context) error {
	if e.run.trial == nil || !e.run.stopped.IsZero() {
		return nil
	}
	end := e.run.start.Add(e.run.length)
	if err := e.clock.Sleep(ctx, end.Sub(e.clock.Now())); err != nil {
		return err
	}
	e.run.stopped = end
	return nil
}

// Stop ends sending now.
func (e *Engine) Stop(context.Context) error {
	if e.run.trial != nil && e.run.stopped.IsZero() {
		e.run.stopped = e.clock.Now()
		e.run.length = min(e.run.length, e.run.stopped.Sub(e.run.start))
	}
	return nil
}

// Read returns what the trial counted.
func (e *Engine) Read(ctx context.Context) (traffic.Measurement, error) {
	if err := context.Cause(ctx); err != nil {
		return traffic.Measurement{}, err
	}
	if e.run.trial == nil {
		return traffic.Measurement{}, errors.New("reading counters: no trial was started")
	}
	e.speaker.lose()
	return e.forwarding.measureFor(e.run.elapsed(e.clock.Now())), nil
}

// Sample implements traffic.Sampler.
func (e *Engine) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	if e.run.trial == nil {
		return errors.New("sampling: no trial was started")
	}
	return s.Each(ctx, e.clock, e.run.start, func(interval int) (time.Duration, error) {
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
	s := traffic.Sample{At: min(e.run.length, e.clock.Now().Sub(e.run.start))}
	for _, tx := range m.Tx {
		s.Sent += tx.Sent
	}
	for _, rx := range m.Rx {
		s.Received += rx.Received
	}
	if ports && err == nil {
		s.Ports = e.run.samplePorts(m)
	}
	return s, err
}

// samplePorts returns the counts of each port.
func (r *trialRun) samplePorts(m traffic.Measurement) *traffic.PortSamples {
	all := traffic.NewPortSamples()
	for i := range r.streams {
		s := &r.streams[i]
		tx, sends := m.Tx[s.ID]
		if !sends {
			continue
		}
		all.Sent(s, tx.Sent)
		r.tellLate(all, s.TxPort, m)
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
