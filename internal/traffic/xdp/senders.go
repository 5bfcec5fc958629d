package xdp

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/utils/cpuset"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp/cardcount"
)

// MaxSenders is the highest number of senders of a port.
const MaxSenders = 16

// share is the part of a port's streams that one sender sends.
type share struct {
	port *port
	// number of the share among the shares of the port, from 0.
	number  int
	streams []dealt
}

// demand is the number of senders that a port wants, at least 1, and the CPUs near its card;
// none where all are alike.
type demand struct {
	senders int
	near    []int
}

// placeSenders returns the CPUs of each port's senders, out of those that senders may use.
// Each sender of a port has a CPU of its own, so a port has at most as many senders as
// there are CPUs near its card, or in all where none is near. The least used CPU comes
// first. So ports with one sender use the CPUs in turn.
func placeSenders(ports []demand, cpus []int) [][]int {
	used := map[int]int{}
	placed := make([][]int, len(ports))
	for i, want := range ports {
		from := slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return !slices.Contains(want.near, cpu) })
		if len(from) == 0 {
			from = slices.Clone(cpus)
		}
		slices.SortStableFunc(from, func(a, b int) int { return used[a] - used[b] })
		placed[i] = from[:min(max(1, want.senders), len(from))]
		for _, cpu := range placed[i] {
			used[cpu]++
		}
	}
	return placed
}

// place chooses the CPUs of the senders of all ports, out of those that senders may use.
func (all ports) place(cpus []int) {
	var wants []demand
	for _, p := range all {
		wants = append(wants, demand{senders: p.send.wantedSenders(), near: p.send.near})
	}
	for i, placed := range placeSenders(wants, cpus) {
		all[i].send.cpus = placed
	}
}

// wantedSenders returns the number of senders of the port that its transmit path allows.
func (t *transmitter) wantedSenders() int {
	n := max(1, t.Senders)
	if t.Transmit == AFXDP {
		channels, _ := t.queues()
		n = min(n, channels) // a socket has one queue, and one sender
	}
	return n
}

// describeSenders returns where the senders of a port that is to have several send, and a
// note if there are fewer than that. Both are empty for a port that is to have one.
func (t *transmitter) describeSenders() (where, note string) {
	if t.Senders < 2 {
		return "", ""
	}
	where = fmt.Sprintf("%s sends on CPUs %s", t.Name, traffic.CPUList(t.cpus))
	has := fmt.Sprintf("%d of %d senders send, because ", len(t.cpus), t.Senders)
	switch wanted := t.wantedSenders(); {
	case len(t.cpus) == t.Senders:
		return where, ""
	case wanted < t.Senders && len(t.cpus) == wanted:
		return where, fmt.Sprintf("%sthe interface has %d transmit queues for AF_XDP sockets", has, wanted)
	case len(t.near) > 0:
		return where, has + "the tester may use no other CPUs on the NUMA node of the card"
	}
	return where, has + "the tester may use no other CPUs"
}

// nearCPUs returns the CPUs on the NUMA node of a card by its address on the PCI bus; none
// where the machine has one node, or the card is on no bus. The directories are below
// root.
func nearCPUs(root, bus string) ([]int, error) {
	if !cardcount.OnBus(bus) {
		return nil, nil
	}
	node, err := strconv.Atoi(cardcount.Line(root, "sys/bus/pci/devices", bus, "numa_node"))
	if err != nil || node < 0 {
		return nil, nil // the firmware does not tell
	}
	nodes, err := filepath.Glob(filepath.Join(root, "sys/devices/system/node/node[0-9]*"))
	if err != nil || len(nodes) < 2 {
		return nil, err
	}
	cpus, err := cpuset.Parse(cardcount.Line(root, "sys/devices/system/node", fmt.Sprintf("node%d", node), "cpulist"))
	if err != nil {
		return nil, fmt.Errorf("reading the CPUs of NUMA node %d: %w", node, err)
	}
	return cpus.List(), nil
}

// dealt is a stream in a share.
type dealt struct {
	// stream is its number among the port's streams.
	stream int
	load   traffic.Load
	// phase is the time from the first frame of all streams of the port with this load
	// until the first frame of this stream is due, in ns.
	phase uint64
}

// deal distributes the streams that have loads over shares. Streams with the same load are
// dealt in turn, so that the shares of a load are due in turn as well.
func deal(streams []traffic.Stream, loads map[uint16]traffic.Load, of int) [][]dealt {
	shares := make([][]dealt, of)
	members := map[traffic.Load][]int{}
	var order []traffic.Load
	for i, s := range streams {
		load, ok := loads[s.ID]
		if !ok {
			continue
		}
		if members[load] == nil {
			order = append(order, load)
		}
		members[load] = append(members[load], i)
	}
	next := 0
	for _, load := range order {
		n := len(members[load])
		for i, stream := range members[load] {
			d := dealt{stream: stream, load: load}
			if !load.Max {
				d.phase = mulDiv(uint64(i), uint64(load.Rate.PerNanos), uint64(n), uint64(load.Rate.Frames))
			}
			to := &shares[next%of]
			*to = append(*to, d)
			next++
		}
	}
	return shares
}

// processors returns the processors that an engine sends on.
func (o Options) processors() ([]int, error) {
	all, err := processors.Usable()
	if err != nil {
		return nil, err
	}
	return o.without(all), nil
}

// without are processors that are not the device's.
func (o Options) without(all []int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(n int) bool { return slices.Contains(o.DeviceProcessors, n) })
}

// settle lets tester and device share the processors if this process may use only the
// processors of the device.
func (o *Options) settle() error {
	all, err := processors.Usable()
	if err != nil {
		return err
	}
	if len(o.DeviceProcessors) > 0 && len(o.without(all)) == 0 {
		o.DeviceProcessors, o.Together = nil, fmt.Sprintf("the device works on processors %s, and the tester may use no others than %s", traffic.CPUList(o.DeviceProcessors), traffic.CPUList(all))
	}
	return nil
}

const (
	// catchUpShare is the share of the mean time between two frames that is kept between
	// late ones, to a device with processors of its own, so that its load is at most an
	// eighth above the intended one. Such a device works on while the tester is held up,
	// and could not take in what comes at full speed after that.
	catchUpShare = 7. / 8
	// catchUpTogether are late frames that may leave without any time between them.
	catchUpTogether = 64
)

// spaceOut keeps a time between the frames of a lane when they are late, if they go to a device
// that works on processors of its own, as a network card does.
func (l *lane) spaceOut(s *schedule, deviceProcessors bool) {
	if !deviceProcessors || l.port.driver != "veth" || s.eager != nil || s.perNano <= 0 {
		return
	}
	mean := 1 / s.perNano
	l.tx.CatchUp, l.tx.Together = max(1, uint64(mean*catchUpShare)), uint64(mean*catchUpTogether)
}
