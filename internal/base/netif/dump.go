package netif

import (
	"errors"

	"github.com/vishvananda/netlink"
)

// readings is the number of times that a list is read while it changes.
const readings = 100

// Whole reads a list of the kernel until nothing in it changed meanwhile: in parts it may lack an entry, or have one twice.
// It fails with netlink.ErrDumpInterrupted if the list changed in each of 100 readings.
func Whole[T any](list func() ([]T, error)) (all []T, err error) {
	for range readings {
		all, err = list()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// Addresses returns the addresses of an interface, as a whole.
func Addresses(link netlink.Link) ([]netlink.Addr, error) {
	return Whole(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_ALL) })
}
