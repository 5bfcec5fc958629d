package netif

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// clsactFilter is the name of the filters of Clsact, by which DetachClsact finds them after
// the process that attached them was killed.
const clsactFilter = "nodrop"

// clsactHooks are the hooks of the queueing discipline clsact.
var clsactHooks = []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS}

// AttachClsact attaches BPF programs of the type sched_cls to the ingress and egress hooks
// of an interface, by filters of the queueing discipline clsact, which it adds if needed.
// Unlike TCX links, filters outlive the process: DetachClsact removes them.
func AttachClsact(nl *netlink.Handle, index, ingress, egress int) error {
	if _, err := DetachClsact(nl, index); err != nil {
		return err
	}
	qdisc := &netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
	if err := nl.QdiscAdd(qdisc); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("adding the queueing discipline clsact: %w", err)
	}
	for i, fd := range []int{ingress, egress} {
		err := nl.FilterAdd(&netlink.BpfFilter{
			FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: clsactHooks[i], Handle: 1, Protocol: unix.ETH_P_ALL},
			Fd:          fd, Name: clsactFilter, DirectAction: true,
		})
		if err != nil {
			_, undo := DetachClsact(nl, index)
			return errors.Join(fmt.Errorf("adding the BPF filter of clsact: %w", err), undo)
		}
	}
	return nil
}

// DetachClsact removes the filters of AttachClsact from an interface, and the queueing
// discipline clsact if it has no other filter. It reports whether there were any.
func DetachClsact(nl *netlink.Handle, index int) (bool, error) {
	link, err := nl.LinkByIndex(index)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking up the interface: %w", err)
	}
	qdiscs, err := Whole(func() ([]netlink.Qdisc, error) { return nl.QdiscList(link) })
	if err != nil {
		return false, fmt.Errorf("listing the queueing disciplines: %w", err)
	}
	for _, qdisc := range qdiscs {
		if qdisc.Type() != "clsact" {
			continue
		}
		ours, others := 0, 0
		for _, hook := range clsactHooks {
			filters, err := Whole(func() ([]netlink.Filter, error) { return nl.FilterList(link, hook) })
			if err != nil {
				return false, fmt.Errorf("listing the filters: %w", err)
			}
			for _, f := range filters {
				if bpf, ok := f.(*netlink.BpfFilter); !ok || bpf.Name != clsactFilter {
					others++
					continue
				}
				ours++
				if err := nl.FilterDel(f); err != nil {
					return false, fmt.Errorf("removing the BPF filter of clsact: %w", err)
				}
			}
		}
		if ours > 0 && others == 0 {
			if err := nl.QdiscDel(qdisc); err != nil {
				return true, fmt.Errorf("removing the queueing discipline clsact: %w", err)
			}
		}
		return ours > 0, nil
	}
	return false, nil
}
