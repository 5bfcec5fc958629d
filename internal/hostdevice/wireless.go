package hostdevice

import (
	"errors"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/netif"
)

// Of the kernel's generic netlink family nl80211 (linux/nl80211.h).
const (
	wirelessFamily       = "nl80211"
	wirelessGetInterface = 5
	wirelessIfindex      = 3
)

// isWireless refuses wireless interfaces, which cannot be moved alone and carry no frames
// of others.
func isWireless(_ *scene, l netlink.Link) (string, error) {
	family, err := netif.Generic(wirelessFamily)
	if errors.Is(err, unix.ENOENT) {
		return "", nil // this machine has none
	}
	if err != nil {
		return "", err
	}
	if _, err := family.Ask(wirelessGetInterface, nl.NewRtAttr(wirelessIfindex, nl.Uint32Attr(uint32(l.Attrs().Index)))); err != nil {
		return "", nil // an interface of another kind is unknown there
	}
	return "this interface is wireless: name an Ethernet interface that is cabled to the device", nil
}
