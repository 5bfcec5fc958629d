package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/yaml"
)

// maxPorts is the number of ports that a server can have.
const maxPorts = 32

// file is TRex's configuration file: a list of one.
type file struct {
	Version     int       `json:"version"`
	PortLimit   int       `json:"port_limit"`
	Interfaces  []string  `json:"interfaces"`
	Prefix      string    `json:"prefix"`
	LimitMemory string    `json:"limit_memory,omitempty"`
	RPCPort     int       `json:"zmq_rpc_port"`
	PublishPort int       `json:"zmq_pub_port"`
	LowEnd      bool      `json:"low_end,omitempty"`
	LowEndCore  *int      `json:"low_end_core,omitempty"`
	Platform    *platform `json:"platform,omitempty"`
}

// platform assigns processors to tasks.
type platform struct {
	Master  int    `json:"master_thread_id"`
	Latency int    `json:"latency_thread_id"`
	Pairs   []pair `json:"dual_if"`
}

// Launch contains what is needed to start a server.
type Launch struct {
	// File is the text of the configuration file.
	File []byte
	// Args are the other arguments, without the one that names the file.
	Args []string
	// Warnings describe what will work, but less well than it could.
	Warnings []string
}

// Configure returns how a server is started on a machine. The prefix distinguishes this
// server from others that share its huge pages; env is the environment, in which device
// plugins pass the addresses of cards.
func Configure(c Config, prefix string, env func(string) string, m Machine) (Launch, error) {
	if len(c.Ports) == 0 || len(c.Ports) > maxPorts {
		return Launch{}, fmt.Errorf("ports has %d entries, and a TRex server has 1 to %d: spread the ports over more nodes", len(c.Ports), maxPorts)
	}
	if c.RPCPort < 2 || c.RPCPort > 65535 {
		return Launch{}, fmt.Errorf("rpcPort %d is no TCP port above 1, below which the server publishes: 4501 is the usual one", c.RPCPort)
	}
	if len(m.Processors) == 0 {
		return Launch{}, errors.New("this process may use no processor")
	}
	interfaces, err := c.interfaces(env, m)
	if err != nil {
		return Launch{}, err
	}
	nodes, warnings := m.pairNodes(c.Ports, interfaces)
	if len(interfaces)%2 == 1 {
		interfaces = append(interfaces, dummy)
	}
	f := file{
		Version:     2,
		PortLimit:   len(interfaces),
		Interfaces:  interfaces,
		Prefix:      prefix,
		RPCPort:     c.RPCPort,
		PublishPort: c.RPCPort - 1,
	}
	filters := c.Software == nil && m.filtersInSoftware(interfaces)
	sending, err := f.place(c, nodes, m, filters)
	if err != nil {
		return Launch{}, err
	}
	text, err := yaml.Marshal([]file{f})
	if err != nil {
		return Launch{}, fmt.Errorf("writing TRex's configuration: %w", err)
	}
	// TRex writes its output line by line only in its silent mode. Its own
	// latency histogram is coarse, and HDR histograms are not.
	args := []string{"-i", "-c", strconv.Itoa(sending), "--no-key", "--no-termio", "--iom", "0"}
	if c.ASTF {
		args = append(args, "--astf")
	} else {
		args = append(args, "--hdrh")
	}
	if c.Software != nil || filters {
		args = append(args, "--software")
	}
	if c.Software != nil || c.Shared {
		// The watchdog aborts a server of which a thread got no processor for a second,
		// which happens where processors are shared.
		args = append(args, "--no-watchdog")
	}
	return Launch{File: text, Args: append(args, m.loading(interfaces)...), Warnings: warnings}, nil
}

// place sets the processors and the memory that the server takes, and returns the number of
// processors that send for each pair of ports. With filters, TRex uses one queue of each card,
// as it does with packet sockets.
func (f *file) place(c Config, nodes []int, m Machine, filters bool) (int, error) {
	limit := len(m.Processors)
	if c.Software != nil || filters || c.ASTF { // each processor needs a client of its own in mode ASTF
		limit = 1
	}
	if c.Software == nil {
		each, err := c.memory(nodes, m)
		if err != nil {
			return 0, err
		}
		f.LimitMemory = strconv.Itoa(each)
	}
	l, ok := m.lay(nodes, limit)
	switch {
	case ok:
		f.Platform = &platform{Master: l.master, Latency: l.latency, Pairs: l.pairs}
		return len(l.pairs[0].Threads), nil
	case c.Software != nil || c.Shared:
		// All threads of the server share one processor, and sleep when they have
		// nothing to do, so that the other is free for the device.
		f.LowEnd = true
		f.LowEndCore = &m.Processors[0]
		return 1, nil
	}
	return 0, m.tooFew(nodes)
}

// memory returns the memory in huge pages that the server takes on each NUMA node that has
// ports, in MiB. TRex takes the same amount on each, in whole pages.
func (c Config) memory(nodes []int, m Machine) (int, error) {
	at := map[int]bool{}
	for _, n := range nodes {
		at[n] = true
	}
	if m.HugePageMiB == 0 {
		return 0, errors.New("no huge pages are mounted here, and TRex on DPDK keeps its frames in them: set engine.trex.hugePages, or choose engine.trex.software")
	}
	each := c.HugePagesMiB / len(at) / m.HugePageMiB * m.HugePageMiB
	if each == 0 {
		return 0, fmt.Errorf("hugePagesMiB %d is less than a page of %d MiB for each of the %d NUMA nodes that have ports: raise engine.trex.hugePages.total", c.HugePagesMiB, m.HugePageMiB, len(at))
	}
	return each, nil
}

// pairNodes returns the NUMA node of each pair of ports: that of the first card whose
// node is known, or else that of the first processor, which is as good as any. It
// warns of pairs that span nodes.
func (m Machine) pairNodes(ports []Port, interfaces []string) (nodes []int, warnings []string) {
	for i := 0; i < len(interfaces); i += 2 {
		node := -1
		for k, address := range interfaces[i:min(i+2, len(interfaces))] {
			card, ok := m.Cards[address]
			switch {
			case !ok || card.Node < 0:
			case node < 0:
				node = card.Node
			case node != card.Node:
				warnings = append(warnings, fmt.Sprintf("TRex sends through ports %s and %s with the same processors, and they are at the NUMA nodes %d and %d: let ports of one node follow each other in the TestBed, in pairs", ports[i].Name, ports[i+k].Name, node, card.Node))
			}
		}
		if node < 0 {
			node = m.Nodes[m.Processors[0]]
		}
		nodes = append(nodes, node)
	}
	return nodes, warnings
}

// drivers are drivers that TRex loads only with an argument, by the driver of the
// kernel, which stays bound to these cards.
var drivers = map[string]string{"mlx5_core": "--mlx5-so", "mlx4_core": "--mlx4-so"}

// unfiltered are cards, by vendor and device, that do not have the filters by which TRex
// makes a card sort the frames that it counts: the driver net_e1000_igb writes the
// filters of an I350, which queue frames by their bytes. On an 82576, which is also the card
// that QEMU emulates as igb, such filters are for waking up a machine. TRex then sorts all
// frames itself (--software).
var unfiltered = map[string]bool{"8086:10c9": true}

// filtersInSoftware reports whether TRex has to sort received frames itself.
func (m Machine) filtersInSoftware(interfaces []string) bool {
	return slices.ContainsFunc(interfaces, func(address string) bool { return unfiltered[m.Cards[address].ID] })
}

// loading returns the arguments that load the drivers of the ports' cards.
func (m Machine) loading(interfaces []string) []string {
	args := map[string]bool{}
	for _, address := range interfaces {
		if arg, ok := drivers[m.Cards[address].Driver]; ok {
			args[arg] = true
		}
	}
	return slices.Sorted(maps.Keys(args))
}
