package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// tagFeatures are those of a NIC that drop tagged frames, and that put tags into frames
// which a virtual device passes on without.
var tagFeatures = []string{"rx-vlan-filter", "rx-vlan-stag-filter", "tx-vlan-hw-insert", "tx-vlan-stag-hw-insert"}

// enterVLAN puts what the kernel sends on the port into the VLAN of its addresses, and
// lets it receive only what comes from there. So the kernel needs no 802.1Q.
func (p *port) enterVLAN() error {
	if len(p.VLANs) == 0 {
		return nil
	}
	spec, err := loadTag()
	if err != nil {
		return fmt.Errorf("reading the BPF programs for tags: %w", err)
	}
	var etypes, tcis [2]uint16
	for i, v := range p.VLANs {
		etypes[i], tcis[i] = p.VLANs.EtherType(i), v.TCI()
	}
	for name, value := range map[string]any{"tags": uint32(len(p.VLANs)), "etypes": etypes, "tcis": tcis} {
		if err := spec.Variables[name].Set(value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	var objects tagObjects
	if err := spec.LoadAndAssign(&objects, nil); err != nil {
		return fmt.Errorf("loading the BPF programs for tags: %w", err)
	}
	p.undo = append(p.undo, objects.Close)
	for _, a := range []struct {
		program *ebpf.Program
		where   ebpf.AttachType
	}{{objects.Untag, ebpf.AttachTCXIngress}, {objects.Tag, ebpf.AttachTCXEgress}} {
		l, err := link.AttachTCX(link.TCXOptions{Program: a.program, Interface: p.index, Attach: a.where})
		if errors.Is(err, ebpf.ErrNotSupported) {
			return fmt.Errorf("the kernel cannot tag what it sends on a port in %v, such as ARP: that takes Linux 6.6 or later: %w", p.VLANs, err)
		}
		if err != nil {
			return fmt.Errorf("attaching the BPF programs for tags: %w", err)
		}
		p.undo = append(p.undo, l.Close)
	}
	return nil
}
