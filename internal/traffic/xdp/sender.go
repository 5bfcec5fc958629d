package xdp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

const (
	// startLead is the time from the start of a trial until its first frame is due: by
	// then all senders run.
	startLead = 2 * time.Millisecond
	// gap is the longest time that a sender spins for the next frame in the kernel.
	// For longer ones it ends the run and sleeps until wakeLead before the frame is
	// due, so that streams below 1000 frames/s leave the processor to others.
	gap = time.Millisecond
	// wakeLead is the longest time that waking up and beginning a run take on a quiet
	// machine.
	wakeLead = 150 * time.Microsecond
	// A frame that is later than heldUp shows that others use the processor. A sender
	// that spins gets only its share of it then, and is held up for longer the more it
	// spins. For restTime it sleeps between frames, and sends those that are due within
	// restQuantum together.
	heldUp      = 10 * time.Millisecond
	restTime    = time.Second
	restQuantum = 100 * time.Microsecond
	// ringPause is the time for which a sender waits for a device whose ring is full; no
	// event signals when there is room again.
	ringPause = 10 * time.Microsecond
	// lateShare is the share of a trial's duration for which a sender goes on after its
	// end with what is still due: half of the finest step that searches use, 0.1 %, and
	// at least lateLeast. Methods judge a trial that took longer than they allow by the
	// load that was offered.
	lateShare = 2000
	lateLeast = 10 * time.Millisecond
)

// portsMost is PORTS_MAX: the highest number of ports of one sender.
const portsMost = 64

// sender sends on one processor in one trial: a share of the streams of each of some ports.
type sender struct {
	lanes []*lane
	// live runs the programs of the first port for all of them.
	live     *liveSender
	programs *kernel.Programs
	// tx is shared with the programs.
	tx       *kernel.PortTxSender
	duration time.Duration
	// hold reports whether the trial lasts for the duration, also when the last frame
	// in it has been sent.
	hold bool
	// greedy reports whether some streams send as fast as they can.
	greedy bool
	// namespace of the ports, in which the sender runs.
	namespace *machine.Namespace
	processor int
	// stopped is closed to end sending at once.
	stopped  chan struct{}
	stopping atomic.Bool
	// done is closed when sending has ended; begin, end and err are valid then.
	done       chan struct{}
	begin, end int64
	cpu        machine.CPUTime
	err        error
}

// surroundings contains what the senders of a trial have in common.
type surroundings struct {
	namespace *machine.Namespace
	// ports are all ports of the engine.
	ports ports
	// deviceProcessors reports whether the device works on processors of its own.
	deviceProcessors bool
}

// newSender lays out the streams of some shares that have loads in a trial. It
// returns nil where there are none.
func newSender(in surroundings, shares []share, t traffic.Trial, epoch uint16, processor int) (*sender, error) {
	s := &sender{
		duration: t.Duration, namespace: in.namespace, processor: processor, stopped: make(chan struct{}), done: make(chan struct{}),
	}
	schedules := map[*lane]*schedule{}
	extent, longest := 0, 0
	for _, of := range shares {
		for _, dealt := range of.streams {
			stream, load := of.port.send.streams[dealt.stream], dealt.load
			extent, longest = max(extent, kernel.Packet(stream).PayloadOffset()), max(longest, stream.FrameSize-4)
			s.hold = s.hold || t.Duration > 0 && load.Frames == 0
			s.greedy = s.greedy || load.Max
		}
		if len(of.streams) > 0 {
			l := &lane{port: of.port, share: of.number}
			schedules[l] = newSchedule(of.streams, t.Duration)
			s.lanes = append(s.lanes, l)
		}
	}
	if len(s.lanes) == 0 {
		return nil, nil
	}
	lead := s.lanes[0].port
	s.programs = lead.receive.attached.programs
	if err := s.programs.Follow(); err != nil {
		return nil, err
	}
	if len(s.lanes) > portsMost {
		return nil, fmt.Errorf("%d ports send on processor %d: the most is %d", len(s.lanes), processor, portsMost)
	}
	at := s.programs.Used
	s.tx = &s.programs.Senders[processor]
	*s.tx = kernel.PortTxSender{
		Deadline: uint64(s.deadline()), Gap: uint64(gap), Pause: uint64(ringPause),
		HeldUp: uint64(heldUp), Rest: uint64(restTime), InTime: uint64(behind), Ports: uint32(len(s.lanes)), First: uint32(at.Lanes),
	}
	perNano := 0.0
	for _, l := range s.lanes {
		schedule := schedules[l]
		l.tx, l.heap, l.groups, l.streams = &s.programs.Ports[at.Lanes], s.programs.Heap, s.programs.Groups, s.programs.Streams
		l.slots = slices.Repeat([]int{-1}, len(l.port.send.streams))
		*l.tx = kernel.PortTxPort{Ifindex: uint32(l.port.index)}
		for i, stream := range schedule.order {
			tx, err := kernel.NewTxStream(l.port.send.streams[stream], epoch, extent, lead.send.bodies)
			if err != nil {
				return nil, err
			}
			l.streams[at.Slots+i], l.slots[stream] = tx, at.Slots+i
		}
		if err := s.programs.TxInterfaces.Put(uint32(at.Lanes), uint32(l.port.index)); err != nil {
			return nil, l.failed(fmt.Errorf("preparing redirects to the port: %w", err))
		}
		l.spaceOut(schedule, in.deviceProcessors)
		schedule.place(l, uint32(at.Slots), uint32(at.Groups))
		perNano += schedule.perNano
		at = kernel.Used{Lanes: at.Lanes + 1, Slots: at.Slots + len(schedule.order), Groups: at.Groups + len(schedule.groups)}
		if err := l.chooseSender(); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	s.programs.Used = kernel.Used{Lanes: at.Lanes, Slots: kernel.Next(at.Slots), Groups: kernel.Next(at.Groups)}
	turns := uint32(batch)
	if s.greedy || perNano > longBatchRate {
		turns = in.ports.batchMost(s.lanes)
	}
	s.live = &liveSender{
		sender: s.tx, program: s.programs.Port, batch: turns,
		template: make([]byte, min(longest, maxLiveFrame)+spare),
	}
	if !s.greedy && perNano <= constantRate {
		s.live.batch, s.tx.Behind = 1, uint64(behind)
	}
	return s, nil
}

// deadline returns the time at which sending ends, in ns since its beginning.
func (s *sender) deadline() int64 {
	switch {
	case s.duration <= 0:
		return 1<<63 - 1
	case s.greedy:
		return int64(s.duration)
	}
	return int64(s.duration + max(s.duration/lateShare, lateLeast))
}

// stop ends sending; it does not wait.
func (s *sender) stop() {
	if s.stopping.CompareAndSwap(false, true) {
		close(s.stopped)
		atomic.StoreUint32(&s.tx.Stop, 1)
	}
}

// run sends until everything is sent, the duration has passed or stop is called.
// It owns its thread: a frame's place in line must not depend on Go's scheduler.
func (s *sender) run(ready func(), start <-chan int64) {
	defer close(s.done)
	err := s.namespace.Do(func() error {
		err := s.settle()
		ready()
		if err != nil {
			return err
		}
		s.begin = <-start
		s.tx.Begin = uint64(s.begin)
		err = s.loop()
		s.end = monotonic()
		if err != nil {
			return err
		}
		s.cpu, err = machine.ReadCPUTime()
		return err
	})
	s.err = errors.Join(err, s.close())
}

// close closes the sockets of the lanes that have one.
func (s *sender) close() error {
	var errs []error
	for _, l := range s.lanes {
		if l.user == nil {
			continue
		}
		if err := l.user.close(); err != nil {
			errs = append(errs, l.failed(err))
		}
	}
	return errors.Join(errs...)
}

// settle prepares the sender's thread. It stays on one processor, so that the
// frames of a port enter virtual devices in one queue and NICs with a queue per
// processor in another, never in two, where they could overtake each other.
func (s *sender) settle() error {
	// Sleep to the microsecond, not to the usual 50.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the timer slack: %w", err)
	}
	// A sender that waits for its turn falls behind its schedule.
	if err := machine.PreferThread(); err != nil {
		return err
	}
	return machine.Pin(s.processor)
}

// loop sends on all ports: the kernel on most, and user space on those that take no
// live frames, each by a thread of its own.
func (s *sender) loop() error {
	errs := make(chan error, len(s.lanes))
	running := 0
	sendFrames := func(l *lane) {
		running++
		go func() {
			errs <- s.namespace.Do(func() error {
				if err := s.settle(); err != nil {
					return err
				}
				return s.sendFrames(l)
			})
		}()
	}
	for _, l := range s.lanes {
		if l.user != nil {
			sendFrames(l)
		}
	}
	err := s.runLive(sendFrames)
	if err != nil {
		s.stop()
	}
	for range running {
		if other := <-errs; other != nil && err == nil {
			err = other
			s.stop()
		}
	}
	if err == nil && s.hold {
		s.sleepUntil(int64(s.duration))
	}
	return err
}

// runLive sends the frames of the ports that the kernel sends on. It calls fellBack
// for those that take no live frames any more.
func (s *sender) runLive(fellBack func(*lane)) error {
	for {
		running := 0
		for _, l := range s.lanes {
			if l.user == nil {
				running++
			}
		}
		if running == 0 || s.stopping.Load() {
			return nil
		}
		why, err := s.live.run()
		if err != nil {
			return s.lanes[0].failed(err)
		}
		for _, l := range s.lanes {
			if open := l.tx.PendingHead - l.tx.PendingTail; open != 0 && l.user == nil {
				return l.failed(fmt.Errorf("the kernel did not report %d frames", open))
			}
			if l.tx.Holes > 0 {
				s.live.batch = min(s.live.batch, batch) // a stream may have one hole only
			}
		}
		switch why {
		case kernel.PortEndingENDED_GAP:
			s.sleepUntil(min(s.wake(), s.deadline()))
		case kernel.PortEndingENDED_BEHIND:
			s.live.batch = batch
		case kernel.PortEndingENDED_HOLE:
		case kernel.PortEndingENDED_ERROR:
			if err := s.refused(fellBack); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// wake returns the time at which the sender goes on after a run that ended before the next
// frame, in ns since sending began.
func (s *sender) wake() int64 {
	now, next := monotonic()-s.begin, int64(s.tx.Next)
	if now < int64(s.tx.Resting) {
		return max(next, now+int64(restQuantum))
	}
	return next - int64(wakeLead)
}

// refused looks for the ports whose device took no frames for another reason than a
// full ring.
func (s *sender) refused(fellBack func(*lane)) error {
	for _, l := range s.lanes {
		if l.user != nil || l.tx.Error == 0 {
			continue
		}
		if errno := unix.Errno(-l.tx.Error); errno != unix.ENXIO && errno != unix.EOPNOTSUPP {
			return l.failed(fmt.Errorf("redirecting frames to the port: %w", errno))
		}
		if err := l.fallBack(l.port.send.refused()); err != nil {
			return l.failed(err)
		}
		fellBack(l)
	}
	return nil
}

// fallBack sends the lane's frames through a packet socket from now on.
func (l *lane) fallBack(why string) error {
	if l.port.Transmit == LiveFrames {
		return l.port.send.cannot(errors.New(why), "leave transmit out, so that the engine goes on through a packet socket")
	}
	l.tx.User = 1
	l.port.send.fallback.Store(&why)
	packet, err := newPacketSender(l)
	if err != nil {
		return err
	}
	l.user = packet
	return nil
}

func (l *lane) failed(err error) error {
	return fmt.Errorf("sending on port %s (%s): %w", l.port.Name, l.port.Interface, err)
}

// sleepUntil sleeps until a time after the begin of the trial, or until stop.
func (s *sender) sleepUntil(t int64) {
	const coarse = int64(2 * time.Millisecond)
	if long := t - (monotonic() - s.begin) - coarse; long > 0 {
		timer := time.NewTimer(time.Duration(long))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.stopped:
			return
		}
	}
	until := unix.NsecToTimespec(s.begin + t)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) == unix.EINTR {
		if s.stopping.Load() {
			return
		}
	}
}

// wait waits for the end of sending.
func (s *sender) wait(ctx context.Context) error {
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// monotonic is the clock of the signatures: CLOCK_MONOTONIC in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the clock always exists
	}
	return t.Nano()
}
