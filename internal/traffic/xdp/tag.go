package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"nodrop.dev/nodrop/internal/netif"
)

// tagFeatures are the features of a NIC that drop tagged frames, or that insert tags into
// frames which a virtual device then passes on without the tags.
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
	err = p.attachTCX(&objects)
	if errors.Is(err, ebpf.ErrNotSupported) {
		return p.attachClsact(&objects)
	}
	return err
}

// attachTCX attaches the programs for tags by links, which end with the process.
func (p *port) attachTCX(o *tagObjects) error {
	for _, a := range []struct {
		program *ebpf.Program
		where   ebpf.AttachType
	}{{o.Untag, ebpf.AttachTCXIngress}, {o.Tag, ebpf.AttachTCXEgress}} {
		l, err := attachTCX(link.TCXOptions{Program: a.program, Interface: p.index, Attach: a.where})
		if err != nil {
			return fmt.Errorf("attaching the BPF programs for tags: %w", err)
		}
		p.undo = append(p.undo, l.Close)
	}
	return nil
}

// attachTCX is a variable for tests of kernels before 6.6.
var attachTCX = link.AttachTCX

// attachClsact attaches the programs for tags by filters, on kernels before 6.6.
func (p *port) attachClsact(o *tagObjects) error {
	if err := netif.AttachClsact(p.engine.netlink, p.index, o.Untag.FD(), o.Tag.FD()); err != nil {
		return fmt.Errorf("the port is in %v, and Linux %s cannot tag what it sends there, such as ARP: that takes Linux 6.6 (TCX), or the modules sch_ingress and cls_bpf (modprobe -a sch_ingress cls_bpf): %w", p.VLANs, netif.KernelRelease(), err)
	}
	p.undo = append(p.undo, func() error {
		_, err := netif.DetachClsact(p.engine.netlink, p.index)
		return err
	})
	return nil
}
