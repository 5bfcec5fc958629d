//go:build linux

package hostdevice

import (
	"fmt"
	"math"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
)

// Candidates are the Ethernet interfaces that a bed could name, and why it cannot name
// some of them. Those that runs have at the moment are not known here.
func Candidates() ([]Candidate, error) {
	here, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("looking at the own network namespace: %w", err)
	}
	defer here.Close()
	namespace, err := netif.Inode(int(here))
	if err != nil {
		return nil, err
	}
	s, err := look(namespace, nil, true)
	if err != nil {
		return nil, err
	}
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	var all []Candidate
	for _, link := range s.links {
		a := link.Attrs()
		if why, err := notEthernet(s, link); err != nil || why != "" {
			continue
		}
		_, why, err := s.judge(a.Name)
		if err != nil {
			return nil, fmt.Errorf("looking at interface %s: %w", a.Name, err)
		}
		all = append(all, Candidate{Name: a.Name, Megabits: megabits(tool, a.Name), Why: why})
	}
	return all, nil
}

// megabits is the speed of a link, 0 where it is not known.
func megabits(tool *ethtool.Ethtool, name string) int64 {
	settings, err := tool.CmdGetMapped(name)
	if speed := settings["speed"]; err == nil && speed > 0 && speed != math.MaxUint32 {
		return int64(speed)
	}
	return 0
}
