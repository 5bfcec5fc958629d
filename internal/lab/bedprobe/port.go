package bedprobe

import (
	"fmt"
	"strconv"
	"strings"
)

// Port is a port of a bed whose interface is probed.
type Port struct {
	// Name of the port.
	Name string
	// Interface of the node.
	Interface string
	// Megabits is the speed in Mbit/s that the bed describes.
	Megabits int64
}

// String returns the port as an argument of the command.
func (p Port) String() string { return fmt.Sprintf("%s=%s@%d", p.Name, p.Interface, p.Megabits) }

// ParsePort reads what String wrote.
func ParsePort(text string) (Port, error) {
	name, rest, named := strings.Cut(text, "=")
	iface, speed, fast := strings.Cut(rest, "@")
	megabits, err := strconv.ParseInt(speed, 10, 64)
	if !named || !fast || name == "" || iface == "" || err != nil || megabits < 0 {
		return Port{}, fmt.Errorf("%q is not a port: give PORT=INTERFACE@SPEED with the speed in Mbit/s, such as p1=eth1@10000", text)
	}
	return Port{Name: name, Interface: iface, Megabits: megabits}, nil
}
