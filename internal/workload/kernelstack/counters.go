package kernelstack

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/workload"
)

// timeouts returns the number of expired retransmission timers of a host. A server has one connection.
func (h *host) timeouts() (n uint64, err error) {
	err = netif.In(h.ns, func() (err error) {
		content, err := os.ReadFile("/proc/thread-self/net/netstat")
		if err != nil {
			return err
		}
		n, err = extended(string(content), "TCPTimeouts")
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading counters of host %s: %w", h.address, err)
	}
	return n, err
}

// extended returns a counter of TCP from /proc/net/netstat.
func extended(content, name string) (uint64, error) {
	var names []string
	for line := range strings.Lines(content) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "TcpExt:" {
			continue
		}
		if names == nil {
			names = words
			continue
		}
		for i, one := range names {
			if one == name && i < len(words) {
				return strconv.ParseUint(words[i], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("the kernel has no counter %s", name)
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

// machine has the counters of all processors of the machine.
type machine struct{ busy, all, dropped uint64 }

// look reads the counters of all processors.
func look() (m machine, _ error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return m, err
	}
	first, _, _ := strings.Cut(string(stat), "\n")
	words := strings.Fields(first)
	if len(words) < 9 || words[0] != "cpu" {
		return m, fmt.Errorf("/proc/stat begins with %.80q", first)
	}
	for i, word := range words[1:9] { // guests are in the first two
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return m, fmt.Errorf("/proc/stat: %w", err)
		}
		m.all += n
		if i != 3 && i != 4 { // idle, and waiting for disks
			m.busy += n
		}
	}
	softnet, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(softnet)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		n, err := strconv.ParseUint(words[1], 16, 64)
		if err != nil {
			return m, fmt.Errorf("/proc/net/softnet_stat: %w", err)
		}
		m.dropped += n
	}
	return m, nil
}

// since returns how busy the machine was.
func (m machine) since(before machine) workload.Limits {
	l := workload.Limits{SoftnetDrops: m.dropped - before.dropped}
	if all := m.all - before.all; all > 0 {
		l.BusyPPM = int64((m.busy - before.busy) * 1_000_000 / all)
	}
	return l
}
