//go:build linux

package bedprobe

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/hypervisor"
	"nodrop.dev/nodrop/internal/base/netif"
)

// ReadLink reads an interface in the network namespace of the calling thread. It needs no
// rights.
func ReadLink(name string) (Link, error) {
	link, err := netlink.LinkByName(name)
	if absent := (netlink.LinkNotFoundError{}); errors.As(err, &absent) {
		return Link{}, nil
	}
	if err != nil {
		return Link{}, err
	}
	return Link{
		Exists: true, Up: link.Attrs().Flags&net.FlagUp != 0, Carrier: netif.Running(link) == nil,
		Megabits: speedOf(name),
	}, nil
}

// speedOf returns the speed of a physical card in Mbit/s; 0 if it is unknown. Others report a
// speed that limits nothing.
func speedOf(name string) int64 {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return 0
	}
	defer tool.Close()
	address, err := tool.BusInfo(name)
	if err != nil || !onPCI(address) {
		return 0
	}
	if emulator, err := hypervisor.Emulated(os.DirFS("/"), address); err != nil || emulator != "" {
		return 0
	}
	const unknown = 1<<32 - 1
	settings, err := tool.CmdGetMapped(name)
	if speed := settings["speed"]; err == nil && speed != unknown {
		return int64(speed)
	}
	return 0
}

// onPCI reports whether the address of a card on its bus has the form of PCI, such as
// 0000:3b:00.0.
func onPCI(address string) bool {
	var domain, bus, device, function int
	n, err := fmt.Sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function)
	return err == nil && n == 4
}
