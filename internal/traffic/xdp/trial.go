package xdp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// unsentShare is the shortfall that is noted: more than one in so many frames.
// It is a tenth of the finest step that searches use.
const unsentShare = 10_000

// trial is the trial in hand, or the last one.
type trial struct {
	traffic.Trial
	senders []*sender
	// begin is the time at which sending began, on the monotonic clock.
	begin int64
	// cpu and losses, which has one entry per port, are as they were when the
	// trial began.
	cpu    machine.CPUTime
	losses []losses
	// pauses of each port when the trial began.
	pauses []pauses
	watch  watch
	// device is not changed while the trial runs.
	device seen
	// progress is guarded by the lock of the samples.
	progress progress
}

// Arm implements traffic.Armer.
func (e *Engine) Arm(ctx context.Context, t traffic.Trial) error {
	if t.Epoch == 0 {
		return errors.New("epoch 0 marks no trial")
	}
	if err := e.Stop(ctx); err != nil {
		return err
	}
	e.sampled.set(nil, 0, nil)
	for _, p := range e.ports {
		if err := p.receive.findStragglers(e.number); err != nil {
			return err
		}
		e.holes.Forget(p.receive.streams)
	}
	e.number++
	err := e.netns.Do(func() error {
		for _, p := range e.ports {
			if err := p.receive.expect(t); err != nil {
				return fmt.Errorf("port %s (%s): %w", p.Name, p.Interface, err)
			}
			if err := p.receive.clear(t.Epoch, e.number); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.epoch, e.armed = t.Epoch, true
	return nil
}

// Start implements traffic.Generator.
func (e *Engine) Start(ctx context.Context, t traffic.Trial) error {
	if err := e.Stop(ctx); err != nil {
		return err
	}
	if err := checkTrial(t); err != nil {
		return err
	}
	if !e.armed || t.Epoch != e.epoch {
		if t.Epoch == 0 {
			t.Epoch = max(1, e.epoch+1)
		}
		if err := e.Arm(ctx, t); err != nil {
			return err
		}
	}
	if e.trial != nil {
		e.lastSent = e.trial.end()
	}
	e.armed, e.trial = false, nil
	e.sampled.set(nil, 0, nil)
	next := &trial{Trial: t}
	if err := e.netns.Do(func() error { return e.prepare(ctx, next) }); err != nil {
		return err
	}
	e.trial = next
	next.start()
	e.sampled.set(next, e.number, e.ports)
	return nil
}

// prepare makes the ports and senders ready.
func (e *Engine) prepare(ctx context.Context, t *trial) error {
	if err := e.place(); err != nil {
		return err
	}
	for _, p := range e.ports {
		if len(p.send.streams)+len(p.receive.streams) > 0 {
			if err := p.waitLink(ctx, e.netlink); err != nil {
				return err
			}
		}
		if err := p.checkNotify(); err != nil {
			return err
		}
		p.settings.keepPauseOff()
		paused, err := pausesOf(p.index)
		if err != nil {
			return err
		}
		t.pauses = append(t.pauses, paused)
		if err := p.send.choose(); err != nil {
			return err
		}
	}
	var err error
	if t.losses, err = e.ports.settled(ctx, e.netlink, e.lastSent, func(int, losses) bool { return true }); err != nil {
		return err
	}
	if t.watch, err = e.ports.watch(); err != nil {
		return err
	}
	t.device = e.ports.seeDevice(e.netlink, e.options)
	if t.cpu, err = machine.ReadCPUTime(); err != nil {
		return err
	}
	return t.addSenders(surroundings{namespace: e.netns, ports: e.ports, deviceProcessors: len(e.options.DeviceProcessors) > 0}, e.epoch)
}

// addSenders makes one sender per processor that sends on ports.
func (t *trial) addSenders(in surroundings, epoch uint16) error {
	shares := map[int][]share{}
	for _, p := range in.ports {
		p.receive.attached.programs.Forget()
		streams := deal(p.send.streams, t.Loads, max(1, len(p.send.cpus)))
		for i, cpu := range p.send.cpus {
			shares[cpu] = append(shares[cpu], share{port: p, number: i, streams: streams[i]})
		}
	}
	for _, cpu := range slices.Sorted(maps.Keys(shares)) {
		s, err := newSender(in, shares[cpu], t.Trial, epoch, cpu)
		if err != nil {
			for _, s := range t.senders {
				err = errors.Join(err, s.close())
			}
			return err
		}
		if s != nil {
			t.senders = append(t.senders, s)
		}
	}
	return nil
}

// end returns when the last sender ended, which all have.
func (t *trial) end() (at int64) {
	for _, s := range t.senders {
		at = max(at, s.end)
	}
	return at
}

// start lets all senders begin at the same time.
func (t *trial) start() {
	ready, begin := make(chan struct{}), make(chan int64, len(t.senders))
	for _, s := range t.senders {
		go s.run(func() { ready <- struct{}{} }, begin)
	}
	for range t.senders {
		<-ready // also from those that fail
	}
	t.begin = monotonic() + int64(startLead)
	for range t.senders {
		begin <- t.begin
	}
}

func checkTrial(t traffic.Trial) error {
	for id, load := range t.Loads {
		switch {
		case !load.Max && (load.Rate.Frames <= 0 || load.Rate.PerNanos <= 0):
			return fmt.Errorf("stream %d: rate of %d frames per %d ns: both must be above 0", id, load.Rate.Frames, load.Rate.PerNanos)
		case load.Frames == 0 && t.Duration <= 0:
			return fmt.Errorf("stream %d: neither a number of frames nor a duration ends the trial", id)
		case load.Delay < 0 || t.Duration > 0 && load.Delay >= t.Duration:
			return fmt.Errorf("stream %d: a delay of %v: want 0 or more, and less than the %v that the trial lasts", id, load.Delay, t.Duration)
		}
	}
	return nil
}

// Wait implements traffic.Generator.
func (e *Engine) Wait(ctx context.Context) error {
	if e.trial == nil {
		return nil
	}
	var errs []error
	for _, s := range e.trial.senders {
		if err := s.wait(ctx); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// Stop implements traffic.Generator.
func (e *Engine) Stop(ctx context.Context) error {
	if e.trial == nil {
		return nil
	}
	early := false
	for _, s := range e.trial.senders {
		select {
		case <-s.done:
		default:
			early = true
			s.stop()
		}
	}
	for _, s := range e.trial.senders {
		select {
		case <-s.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if early {
		e.sampled.cut(e.trial)
	}
	return nil
}

// Read implements traffic.Generator.
func (e *Engine) Read(ctx context.Context) (traffic.Measurement, error) {
	if e.trial == nil {
		return traffic.Measurement{}, errors.New("there was no trial to read")
	}
	m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
	for _, s := range e.trial.senders {
		select {
		case <-s.done:
		default:
			return m, fmt.Errorf("port %s is still sending: counters are read when sending has ended", s.lanes[0].port.Name)
		}
	}
	e.trial.readSent(e.ports, &m)
	m.Notes = append(m.Notes, e.trial.foreign(e.options.Host)...)
	return m, e.netns.Do(func() error { return e.observe(ctx, &m) })
}

// observe adds what was received, and what bears on validity.
func (e *Engine) observe(ctx context.Context, m *traffic.Measurement) (err error) {
	lost, err := e.ports.settled(ctx, e.netlink, e.trial.end(), func(i int, now losses) bool {
		return e.ports[i].counters.countsAll(e.ports[i].send.sentIn(m), e.trial.losses[i].card, now.card)
	})
	if err != nil {
		return err
	}
	byCards := make([]traffic.PauseCount, len(e.ports))
	m.Began = traffic.Moments{}
	for i, p := range e.ports {
		m.Began[p.Name] = uint64(e.trial.begin)
		if err := p.receive.read(m); err != nil {
			return err
		}
		if p.receive.counted, err = p.receive.receivedIn(e.number); err != nil {
			return err
		}
		if err := e.trial.addLosses(m, e.ports, e.netlink, p, e.trial.losses[i], lost[i]); err != nil {
			return err
		}
		paused, err := pausesOf(p.index)
		if err != nil {
			return err
		}
		m.Notes = append(m.Notes, p.send.heldBack(m, e.trial.pauses[i], paused)...)
		byCards[i] = p.counters.pausesBetween(e.trial.losses[i].card, lost[i].card, e.trial.pauses[i], paused)
	}
	m.Notes = append(m.Notes, e.trial.fallbacks(e.ports)...)
	return e.trial.changes(e.ports, e.options.Host, m, byCards)
}

// readSent adds what was sent to a measurement.
func (t *trial) readSent(ports []*port, m *traffic.Measurement) {
	for _, p := range ports {
		var intends, sent, refused uint64
		for _, s := range t.senders {
			took := max(0, time.Duration(s.end-s.begin))
			m.TxTime = max(m.TxTime, took)
			for _, l := range s.lanes {
				if l.port != p {
					continue
				}
				i, n := l.read(t.Trial, took, m)
				intends, sent, refused = intends+i, sent+n, refused+l.tx.Refused
				traffic.Put(&m.Pacing, p.Name, m.Pacing[p.Name].With(l.pacing()))
			}
		}
		if short := intends - sent; short*unsentShare > intends {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteUnsent, Text: fmt.Sprintf(
				"port %s (%s) sent %d frames of %d intended, %d less; %d were refused by the device and tried again", p.Name, p.Interface, sent, intends, short, refused)})
		}
	}
}

// read adds what the lane sent in a time to a measurement, and returns the sums of intended
// and sent frames.
func (l *lane) read(t traffic.Trial, took time.Duration, m *traffic.Measurement) (intends, sent uint64) {
	for i, stream := range l.port.send.streams {
		if l.slots[i] < 0 {
			continue
		}
		load := t.Loads[stream.ID]
		c := &l.streams[l.slots[i]]
		count := traffic.TxCount{Intended: max(intended(load, t.Duration), c.Sent()), Sent: c.Sent(), Duration: max(0, took-load.Delay)}
		if load.Max && t.Duration > 0 || count.Intended == unlimited {
			count.Intended = count.Sent // as fast as it can: what it can is what was asked for
		}
		count.Ahead = aheadOf(l.port.receive.attached.holes.At[stream.ID], count.Sent)
		m.Tx[stream.ID] = count
		intends, sent = intends+count.Intended, sent+count.Sent
	}
	return intends, sent
}

// aheadOf returns the place of the frame behind a hole, if not all frames of the hole were sent
// again; otherwise 0.
func aheadOf(hole kernel.PortHole, sent uint64) uint64 {
	if hole.To > hole.From && sent <= hole.To {
		return hole.To
	}
	return 0
}

// foreign returns the notes about other load, while the trial was sent, on processors
// that sent.
func (t *trial) foreign(host string) []traffic.Note {
	var notes []traffic.Note
	seen := map[int]bool{}
	for _, s := range t.senders {
		if !seen[s.processor] {
			seen[s.processor] = true
			notes = append(notes, t.cpu.Foreign(s.cpu, s.processor, host)...)
		}
	}
	return notes
}
