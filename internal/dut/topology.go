package dut

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// topology is the part of a containerlab topology file that is used here; containerlab handles
// the rest.
type topology struct {
	Name   string  `json:"name"`
	Prefix *string `json:"prefix"`
	Mgmt   struct {
		Network string `json:"network"`
	} `json:"mgmt"`
	Topology struct {
		Nodes map[string]any `json:"nodes"`
		Links []link         `json:"links"`
	} `json:"topology"`
}

// link in the brief form has endpoints as "node:interface"; a link of type host
// names the host's end apart.
type link struct {
	Type      string `json:"type"`
	Endpoints []any  `json:"endpoints"`
	Endpoint  struct {
		Node      string `json:"node"`
		Interface string `json:"interface"`
	} `json:"endpoint"`
	HostInterface string `json:"host-interface"`
}

func readTopology(path string) (*topology, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the topology: %w", err)
	}
	t := &topology{}
	if err := yaml.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("reading the topology %s: %w", path, err)
	}
	// The name becomes part of paths and of a query.
	if t.Name == "" || t.Name != filepath.Base(t.Name) || strings.HasPrefix(t.Name, ".") {
		return nil, fmt.Errorf("reading the topology %s: its name is %q: give it a plain one", path, t.Name)
	}
	return t, nil
}

// container is the name of a node's container.
func (t *topology) container(node string) (string, error) {
	if _, ok := t.Topology.Nodes[node]; !ok {
		nodes := make([]string, 0, len(t.Topology.Nodes))
		for n := range t.Topology.Nodes {
			nodes = append(nodes, n)
		}
		slices.Sort(nodes)
		return "", fmt.Errorf("topology %s has no node %s, only %s", t.Name, node, strings.Join(nodes, ", "))
	}
	switch {
	case t.Prefix == nil:
		return "clab-" + t.Name + "-" + node, nil
	case *t.Prefix == "":
		return node, nil
	case *t.Prefix == "__lab-name":
		return t.Name + "-" + node, nil
	default:
		return *t.Prefix + "-" + t.Name + "-" + node, nil
	}
}

// management is the name of the management network.
func (t *topology) management() string {
	if t.Mgmt.Network == "" {
		return "clab"
	}
	return t.Mgmt.Network
}

// hostLink joins a node to the host.
type hostLink struct {
	// end is the interface on the host.
	end string
	// node at the other end, and its interface.
	node, inside string
}

// hostLinks are the topology's links to the host.
func (t *topology) hostLinks() []hostLink {
	var links []hostLink
	for _, l := range t.Topology.Links {
		if l.Type == "host" {
			links = append(links, hostLink{end: l.HostInterface, node: l.Endpoint.Node, inside: l.Endpoint.Interface})
			continue
		}
		var end, node, inside string
		for _, endpoint := range l.Endpoints {
			text, _ := endpoint.(string)
			if at, name, _ := strings.Cut(text, ":"); at == "host" {
				end = name
			} else {
				node, inside = at, name
			}
		}
		if end != "" {
			links = append(links, hostLink{end: end, node: node, inside: inside})
		}
	}
	return links
}

// hostEnds are the interfaces that the topology's links have on the host.
func (t *topology) hostEnds() []string {
	var ends []string
	for _, l := range t.hostLinks() {
		ends = append(ends, l.end)
	}
	return ends
}

// interfaces returns the interfaces of a node, by the interface of the host at their other
// end.
func (t *topology) interfaces(node string) map[string]string {
	names := map[string]string{}
	for _, l := range t.hostLinks() {
		if l.node == node {
			names[l.end] = l.inside
		}
	}
	return names
}

// copyFiles puts the files next to path into dir, following links (in a mounted
// Secret every file is one), and returns where path's copy is. Files of a device can have
// passwords: only root reads them there.
func copyFiles(path, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("copying the topology: %w", err)
	}
	from := filepath.Dir(path)
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", fmt.Errorf("copying the topology: %w", err)
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(from, e.Name()))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		var content []byte
		if err == nil {
			content, err = os.ReadFile(filepath.Join(from, e.Name()))
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), content, 0o644)
		}
		if err != nil {
			return "", fmt.Errorf("copying the topology: %w", err)
		}
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}
