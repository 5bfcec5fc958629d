package standalone

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// cableMTU lets frames of 9216 bytes through, the largest of the API: 14 of them
// are the Ethernet header and 4 the FCS.
const cableMTU = 9198

// cables are veth pairs that join the ports of every pair, in this process's own
// network namespace.
type cables struct {
	links []netlink.Link
}

func newCables(ports []v1alpha1.Port) (*cables, error) {
	c := &cables{}
	for i := 0; i+1 < len(ports); i += 2 {
		a, b := ports[i].Name, ports[i+1].Name
		link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: a, MTU: cableMTU, TxQLen: 1000}, PeerName: b, PeerMTU: cableMTU}
		if err := c.add(link, a, b); err != nil {
			return nil, errors.Join(fmt.Errorf("cabling %s to %s: %w", a, b, err), c.close())
		}
	}
	return c, nil
}

func (c *cables) add(link *netlink.Veth, ends ...string) error {
	if err := netlink.LinkAdd(link); err != nil {
		return err
	}
	c.links = append(c.links, link)
	for _, end := range ends {
		// Both ends have addresses of this host, so each must accept requests from
		// the other's address.
		for key, value := range map[string]string{"accept_local": "1", "rp_filter": "0"} {
			if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+end+"/"+key, []byte(value), 0); err != nil {
				return err
			}
		}
		l, err := netlink.LinkByName(end)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
	}
	return nil
}

// close removes the cables; both ends go with one of them.
func (c *cables) close() error {
	var errs []error
	for _, link := range c.links {
		if err := netlink.LinkDel(link); err != nil {
			errs = append(errs, fmt.Errorf("removing the cable at %s: %w", link.Attrs().Name, err))
		}
	}
	c.links = nil
	return errors.Join(errs...)
}
