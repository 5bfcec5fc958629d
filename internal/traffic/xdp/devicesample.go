package xdp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
)

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
func (e *Engine) seeDevice() (s seen) {
	if len(e.options.DeviceProcessors) == 0 && e.options.Together == "" {
		return s // The device is on no machine of the tester, or there is none.
	}
	s.processors = e.options.DeviceProcessors
	for _, p := range e.ports {
		if p.driver != "veth" {
			continue
		}
		if l, err := e.netlink.LinkByIndex(p.index); err == nil && l.Attrs().NetNsID >= 0 {
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
	err := eachLine(file, func(line string) bool {
		f := strings.Fields(line)
		if len(f) <= statStolen+1 || !strings.HasPrefix(f[0], "cpu") {
			return false
		}
		if n, err := strconv.Atoi(f[0][3:]); err != nil || !slices.Contains(which, n) {
			return true
		}
		found++
		for column, text := range f[1 : statStolen+2] {
			spent := ticks(text)
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
