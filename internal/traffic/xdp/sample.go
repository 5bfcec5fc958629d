package xdp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// sampled is the trial that samples are taken of. It has a lock of its own, since
// samples are taken while other calls of the engine run.
type sampled struct {
	mu sync.Mutex
	// trial is nil while there is none that could be sampled.
	trial *trial
	// number of the trial, which its frames carry.
	number uint64
	ports  []*port
}

// set changes the trial, once no sample is being read any more.
func (s *sampled) set(t *trial, number uint64, ports []*port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial, s.number, s.ports = t, number, ports
}

// errNoTrial means that a sample was requested and nothing is being sent.
var errNoTrial = errors.New("there is no trial to take a sample of")

// Sample implements traffic.Sampler.
func (e *Engine) Sample(ctx context.Context, s traffic.Sampling, take func(traffic.Sample)) error {
	e.sampled.mu.Lock()
	t := e.sampled.trial
	e.sampled.mu.Unlock()
	if t == nil {
		return errNoTrial
	}
	clock := e.Clock()
	begin := clock.Now().Add(-time.Duration(monotonic() - t.begin))
	return e.netns.Do(func() error {
		// A reader that waits for its turn misses intervals.
		if err := machine.PreferThread(); err != nil {
			return err
		}
		return s.Each(ctx, clock, begin, func(interval int) (time.Duration, error) {
			began := machine.ThreadTime()
			sample, err := e.sampled.read(t)
			if err == nil && s.Ports {
				sample.Ports, err = e.sampled.readPorts(t)
				sample.Device = t.device.since()
			}
			if err == nil {
				sample.Interval = interval
				take(sample)
			}
			return machine.ThreadTime() - began, err
		})
	})
}

// read takes a sample of a trial, if it is still the one in hand. It reads one
// counter per port for what left, and one per processor and port for what arrived;
// senders and receivers do not wait for it. What arrived is read first, so that it is
// never more than what left.
func (s *sampled) read(t *trial) (traffic.Sample, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sample traffic.Sample
	if s.trial != t {
		return sample, errNoTrial
	}
	for _, p := range s.ports {
		n, err := p.receive.receivedIn(s.number)
		if err != nil {
			return sample, err
		}
		sample.Received += n
	}
	for _, sender := range t.senders {
		for _, l := range sender.lanes {
			sample.Sent += atomic.LoadUint64(&l.tx.Sent)
		}
	}
	sample.At = t.age()
	return sample, nil
}

// flowsAtOnce is the number of flows that are read before other users of the counters get
// their turn: some tenths of a millisecond.
const flowsAtOnce = 64

// readPorts reads what each port has counted, flow by flow. A frame of the flow that is
// read waits for some microseconds, in the ring of the port. What left is read first: frames
// that are sent while the flows are read do not look as if nothing of their stream arrived.
func (s *sampled) readPorts(t *trial) (*traffic.PortSamples, error) {
	all := traffic.NewPortSamples()
	ports, err := s.readSent(t, all)
	if err != nil {
		return nil, err
	}
	for _, p := range ports {
		for first, more := 0, true; more; first += flowsAtOnce {
			if more, err = s.readFlows(t, p, first, all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// readSent reads what the ports have sent, and returns those that receive.
func (s *sampled) readSent(t *trial, all *traffic.PortSamples) ([]*port, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trial != t {
		return nil, errNoTrial
	}
	for _, sender := range t.senders {
		for _, l := range sender.lanes {
			name := l.port.Name
			traffic.Put(&all.CaughtUp, name, all.CaughtUp[name]+atomic.LoadUint64(&l.tx.Late))
			for i := range l.port.send.streams {
				if l.slots[i] >= 0 {
					all.Sent(&l.port.send.streams[i], l.streams[l.slots[i]].Sent())
				}
			}
		}
	}
	return s.ports, nil
}

// readFlows reads some of the flows of a port, and reports whether there are more.
func (s *sampled) readFlows(t *trial, p *port, first int, all *traffic.PortSamples) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trial != t {
		return false, errNoTrial
	}
	end := min(first+flowsAtOnce, len(p.receive.streams))
	var flow kernel.PortRxFlow
	for i := first; i < end; i++ {
		if err := p.receive.readFlow(i, &flow); err != nil {
			return false, err
		}
		all.Received(&p.receive.streams[i], p.Name, p.receive.count(i, &flow))
	}
	return end < len(p.receive.streams), nil
}

// age returns the time for which the trial has been sending, or did send.
func (t *trial) age() time.Duration {
	end := int64(0)
	for _, s := range t.senders {
		select {
		case <-s.done:
			end = max(end, s.end)
		default:
			return max(0, time.Duration(monotonic()-t.begin))
		}
	}
	if len(t.senders) > 0 {
		return time.Duration(end - t.begin)
	}
	// Others send, for as long.
	age := max(0, time.Duration(monotonic()-t.begin))
	if t.Duration > 0 {
		age = min(age, t.Duration)
	}
	return age
}

// receivedIn returns the number of frames of a trial that the port has received so far.
func (r *receiver) receivedIn(trial uint64) (n uint64, err error) {
	var all []kernel.PortRxPort
	if err := r.attached.programs.RxPorts.Lookup(uint32(0), &all); err != nil {
		return 0, fmt.Errorf("reading the counters of port %s: %w", r.Name, err)
	}
	for _, c := range all {
		if c.Trial == trial {
			n += c.Received
		}
	}
	return n, nil
}

// seen describes what this process can read of a software device on this machine.
type seen struct {
	ends       []deviceEnd
	processors []int
	// begun contains the counts from when the trial was prepared.
	begun traffic.DeviceSample
}

// deviceEnd is an interface of the device, which is the other end of a port's veth: its
// index in the namespace that has this number here.
type deviceEnd struct {
	port             string
	index, namespace int
}

// seeDevice looks for a device of software; what cannot be read is not there, and no trial
// fails for it.
func (all ports) seeDevice(handle *netlink.Handle, o Options) (s seen) {
	if len(o.DeviceProcessors) == 0 && o.Together == "" {
		return s // The device is on no machine of the tester, or there is none.
	}
	s.processors = o.DeviceProcessors
	for _, p := range all {
		if p.driver != "veth" {
			continue
		}
		if l, err := handle.LinkByIndex(p.index); err == nil && l.Attrs().NetNsID >= 0 {
			s.ends = append(s.ends, deviceEnd{p.Name, l.Attrs().ParentIndex, l.Attrs().NetNsID})
		}
	}
	s.begun = s.now()
	// What could not be read once is not asked for in every interval.
	s.ends = slices.DeleteFunc(s.ends, func(end deviceEnd) bool {
		_, read := s.begun.Interfaces[end.port]
		return !read
	})
	return s
}

// since returns what the device has counted since the trial was prepared; nil if nothing of it
// can be read.
func (s *seen) since() *traffic.DeviceSample {
	if len(s.ends)+len(s.processors) == 0 {
		return nil
	}
	now := s.now()
	return now.Since(&s.begun)
}

func (s *seen) now() (d traffic.DeviceSample) {
	for _, end := range s.ends {
		if c, err := statistics(end.index, end.namespace); err == nil {
			traffic.Put(&d.Interfaces, end.port, interfaceSample(c))
		}
	}
	if len(s.processors) > 0 {
		d.Processors = spentBy(s.processors, "/proc/stat")
	}
	return d
}

func interfaceSample(c netlink.LinkStatistics) traffic.InterfaceSample {
	return traffic.InterfaceSample{
		RxFrames: c.RxPackets, RxDropped: c.RxDropped, RxErrors: c.RxErrors,
		TxFrames: c.TxPackets, TxDropped: c.TxDropped, TxErrors: c.TxErrors,
	}
}

// Columns of a processor in proc_stat(5). The time of guests is part of user and nice.
const (
	statIdle   = 3
	statIOWait = 4
	statSoft   = 6
	statStolen = 7
)

// spentBy returns the time that processors have spent since boot, from a file in the form of
// proc_stat(5); nil if the file does not contain it.
func spentBy(which []int, file string) *traffic.ProcessorSample {
	var sum traffic.ProcessorSample
	found := 0
	err := machine.EachLine(file, func(line string) bool {
		f := strings.Fields(line)
		if len(f) <= statStolen+1 || !strings.HasPrefix(f[0], "cpu") {
			return false
		}
		if n, err := strconv.Atoi(f[0][3:]); err != nil || !slices.Contains(which, n) {
			return true
		}
		found++
		for column, text := range f[1 : statStolen+2] {
			spent := machine.Ticks(text)
			sum.Total += spent
			if column != statIdle && column != statIOWait {
				sum.Busy += spent
			}
			if column == statSoft {
				sum.SoftInterrupts += spent
			}
		}
		return true
	})
	if err != nil || found < len(which) {
		return nil
	}
	return &sum
}
