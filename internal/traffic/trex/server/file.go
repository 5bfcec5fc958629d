package server

import (
	"fmt"
	"strconv"

	"sigs.k8s.io/yaml"
)

// maxPorts is how many ports a server can have.
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

// platform says which processor does what.
type platform struct {
	Master  int    `json:"master_thread_id"`
	Latency int    `json:"latency_thread_id"`
	Pairs   []pair `json:"dual_if"`
}

// Configuration writes the server's configuration file and the arguments that go
// with it, apart from the one that names the file. The prefix tells this server from
// others that share its huge pages; env is the environment, in which device plugins
// hand in the addresses of cards.
func Configuration(c Config, prefix string, env func(string) string, m Machine) (text []byte, args []string, err error) {
	if len(c.Ports) == 0 || len(c.Ports) > maxPorts {
		return nil, nil, fmt.Errorf("ports has %d entries, and a TRex server has 1 to %d: spread the ports over more nodes", len(c.Ports), maxPorts)
	}
	if c.RPCPort < 2 || c.RPCPort > 65535 {
		return nil, nil, fmt.Errorf("rpcPort %d is no TCP port above 1, below which the server publishes: 4501 is the usual one", c.RPCPort)
	}
	interfaces, err := c.interfaces(env, m)
	if err != nil {
		return nil, nil, err
	}
	nodes := m.pairNodes(interfaces)
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
	sending, err := f.place(c, nodes, m)
	if err != nil {
		return nil, nil, err
	}
	text, err = yaml.Marshal([]file{f})
	if err != nil {
		return nil, nil, fmt.Errorf("writing TRex's configuration: %w", err)
	}
	// TRex writes its output line by line only when it is told to be silent.
	args = []string{"-i", "-c", strconv.Itoa(sending), "--no-key", "--no-termio", "--iom", "0"}
	if c.Software != nil {
		args = append(args, "--software")
	}
	return text, args, nil
}

// place says which processors and how much memory the server takes, and returns how
// many processors send for each pair of ports.
func (f *file) place(c Config, nodes []int, m Machine) (int, error) {
	limit := len(m.Processors)
	if c.Software != nil {
		limit = 1 // a packet socket of TRex has one queue
	} else {
		sockets := map[int]bool{}
		for _, n := range nodes {
			sockets[n] = true
		}
		// TRex takes as much of each node that has ports.
		f.LimitMemory = strconv.Itoa(c.HugePagesMiB / len(sockets))
	}
	l, ok := m.lay(nodes, limit)
	switch {
	case ok:
		f.Platform = &platform{Master: l.master, Latency: l.latency, Pairs: l.pairs}
		return len(l.pairs[0].Threads), nil
	case c.Software != nil:
		// All threads of the server share one processor, and sleep when they have
		// nothing to do, so that the device has the other.
		f.LowEnd = true
		f.LowEndCore = &m.Processors[0]
		return 1, nil
	}
	return 0, m.tooFew(nodes)
}

// pairNodes returns the NUMA node of each pair of ports: that of the first card whose
// node is known, or else that of the first processor, which is as good as any.
func (m Machine) pairNodes(interfaces []string) []int {
	var nodes []int
	for i := 0; i < len(interfaces); i += 2 {
		node := m.Nodes[m.Processors[0]]
		for _, address := range interfaces[i:min(i+2, len(interfaces))] {
			if n, ok := m.Cards[address]; ok {
				node = n
				break
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}
