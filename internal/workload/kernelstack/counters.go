package kernelstack

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// timeouts returns the number of expired retransmission timers of a host. A server has one connection.
func (h *host) timeouts() (n uint64, err error) {
	err = h.inThread(func(thread procfs.Proc) (err error) {
		n, err = timeoutsOf(thread)
		return err
	})
	return n, err
}

// inThread calls f in the network namespace of a host, with the thread that is in it and has its counters.
func (h *host) inThread(f func(procfs.Proc) error) error {
	err := netif.In(h.ns, func() error {
		thread, err := procfs.NewProc(unix.Gettid())
		if err != nil {
			return err
		}
		return f(thread)
	})
	if err != nil {
		err = fmt.Errorf("reading counters of host %s: %w", h.address, err)
	}
	return err
}

// timeoutsOf returns the counter of expired retransmission timers in the network namespace of a thread.
func timeoutsOf(thread procfs.Proc) (uint64, error) {
	counters, err := thread.Netstat()
	if err != nil {
		return 0, err
	}
	if counters.TCPTimeouts == nil {
		return 0, errors.New("the kernel has no counter TCPTimeouts")
	}
	return uint64(*counters.TCPTimeouts), nil
}

// received returns the bytes and packets that the interface of a host received.
func (h *host) received() (bytes, packets uint64, err error) {
	err = netif.In(h.ns, func() error {
		link, err := netlink.LinkByName(hostInterface)
		if err != nil {
			return err
		}
		s := link.Attrs().Statistics
		if s == nil {
			return fmt.Errorf("interface %s has no counters", hostInterface)
		}
		bytes, packets = s.RxBytes, s.RxPackets
		return nil
	})
	if err != nil {
		err = fmt.Errorf("reading counters of host %s: %w", h.address, err)
	}
	return bytes, packets, err
}

// tcpInfo returns what the kernel has counted on a connection.
func tcpInfo(fd int) (workload.Connection, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return workload.Connection{}, fmt.Errorf("reading the counters of a connection: %w", err)
	}
	return workload.Connection{
		Retransmissions: uint64(info.Total_retrans),
		Busy:            time.Duration(info.Busy_time) * time.Microsecond,
		WindowLimited:   time.Duration(info.Rwnd_limited) * time.Microsecond,
	}, nil
}

// machine has the counters of all processors of the machine: the seconds that they were busy and that passed, and the packets that were
// dropped since a processor did not keep up.
type machine struct {
	busy, all float64
	dropped   uint64
}

// look reads the counters of all processors.
func look() (m machine, _ error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return m, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return m, err
	}
	t := stat.CPUTotal
	m.busy = t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal // guests are in the first two
	m.all = m.busy + t.Idle + t.Iowait
	processors, err := proc.NetSoftnetStat()
	if err != nil {
		return m, err
	}
	for _, p := range processors {
		m.dropped += uint64(p.Dropped)
	}
	return m, nil
}

// since returns how busy the machine was.
func (m machine) since(before machine) workload.Limits {
	l := workload.Limits{SoftnetDrops: m.dropped - before.dropped}
	if all := m.all - before.all; all > 0 {
		l.BusyPPM = int64((m.busy - before.busy) / all * 1e6)
	}
	return l
}

// mtu returns the MTU of the interface of a host.
func (h *host) mtu() (n int, err error) {
	err = netif.In(h.ns, func() error {
		link, err := netlink.LinkByName(hostInterface)
		if err == nil {
			n = link.Attrs().MTU
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading the MTU of host %s: %w", h.address, err)
	}
	return n, err
}
