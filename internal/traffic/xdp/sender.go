package xdp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// quantum is the shortest time between two wake-ups of a paced sender: frames
	// that are due within it go together.
	quantum = 100 * time.Microsecond
	// burst is the most that a paced sender sends at once. A sender that fell
	// behind, because the machine was busy, catches up in such bursts.
	burst = 64
	// ringPause is how long a sender waits for a device whose ring is full; no
	// event tells when there is room again.
	ringPause = 50 * time.Microsecond
	// niceness of a sender's thread.
	niceness = -15
	// graceMin and graceMax bound how long after the end of a trial a sender may
	// send what is still due: a hundredth of the duration.
	graceMin, graceMax = 10 * time.Millisecond, 100 * time.Millisecond
)

// transmitter sends the first n frames of a port's plan and returns how many
// the device took; those that it did not, it counts as refused in their stream.
type transmitter interface {
	send(n int) (taken int, err error)
}

// sender sends the frames of one port in one trial.
type sender struct {
	port     *port
	schedule *schedule
	duration time.Duration
	// hold says that the trial lasts for the duration, also when the last frame
	// in it has been sent.
	hold      bool
	processor int
	// stopped is closed to end sending at once.
	stopped  chan struct{}
	stopping atomic.Bool
	// done is closed when sending has ended; begin, end and err are valid then.
	done       chan struct{}
	begin, end int64
	cpu        cpuTime
	err        error
}

// stop ends sending; it does not wait.
func (s *sender) stop() {
	if s.stopping.CompareAndSwap(false, true) {
		close(s.stopped)
	}
}

// run sends until everything is sent, the duration has passed or stop is called.
// It owns its thread: a frame's place in line must not depend on Go's scheduler.
func (s *sender) run(ready func(), start <-chan int64) {
	defer close(s.done)
	err := s.port.engine.netns.do(func() error {
		err := s.settle()
		ready()
		if err != nil {
			return err
		}
		s.begin = <-start
		err = s.loop()
		s.end = monotonic()
		if err != nil {
			return err
		}
		s.cpu, err = cpuNow()
		return err
	})
	if err != nil {
		s.err = fmt.Errorf("sending on port %s (%s): %w", s.port.Name, s.port.Interface, err)
	}
}

// settle prepares the sender's thread. It stays on one processor, so that the
// frames of a port enter virtual devices in one queue and NICs with a queue per
// processor in another, never in two, where they could overtake each other.
func (s *sender) settle() error {
	// Sleep to the microsecond, not to the usual 50.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the timer slack: %w", err)
	}
	// Before other processes, where that is allowed (CAP_SYS_NICE): a sender that
	// waits for its turn falls behind its schedule.
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("raising the sender's priority: %w", err)
	}
	return pin(s.processor)
}

func (s *sender) loop() error {
	plan := s.port.programs.port.Plan[:]
	var deadline int64 = 1<<63 - 1
	if s.duration > 0 {
		deadline = int64(s.duration)
		if !s.schedule.greedy() {
			deadline += int64(min(max(s.duration/100, graceMin), graceMax))
		}
	}
	most, pause := burst, int64(quantum)
	if s.schedule.greedy() {
		most = len(plan)
	} else if s.schedule.perNano > 0 {
		pause = min(pause, int64(burst*3/4/s.schedule.perNano))
	}
	var last int64
	for !s.stopping.Load() {
		now := monotonic() - s.begin
		if now >= deadline {
			return nil
		}
		if n := s.schedule.fill(plan[:most], now); n > 0 {
			last = now
			if err := s.transmit(plan[:n]); err != nil {
				return err
			}
			continue
		}
		due, more := s.schedule.next()
		if !more {
			if s.hold {
				s.sleepUntil(int64(s.duration))
			}
			return nil
		}
		s.sleepUntil(min(max(due, last+pause), deadline))
	}
	return nil
}

// transmit sends the plan, and schedules again what the device did not take.
func (s *sender) transmit(plan []uint32) error {
	before := s.port.programs.port.Refused
	taken, err := s.port.transmitter.send(len(plan))
	if errors.Is(err, errNoXDP) {
		err = s.port.fallBack(refused(s.port))
	}
	if s.port.programs.port.Refused != before {
		s.port.collectRefused(plan, &s.schedule.retry)
	}
	if err == nil && taken == 0 {
		time.Sleep(ringPause)
	}
	return err
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
