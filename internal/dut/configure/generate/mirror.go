package generate

import (
	"errors"
	"fmt"
	"slices"
)

// Mirror describes copies of all frames that come into a port, at other ports.
type Mirror struct {
	// Name of the mirror on the device.
	Name string
	// From is the interface whose frames are copied, and To are the interfaces that send the copies.
	From string
	To   []string
}

// Check fails with the field that is wrong, and the remedy.
func (m *Mirror) Check() error {
	if slices.Contains(m.To, m.From) {
		return fmt.Errorf("to: Invalid value: %q: it is the port whose frames are copied: give other ports", m.From)
	}
	return errors.Join(name("name", m.Name), name("from", m.From), interfaces("to", m.To))
}

// Write returns the mirror in the words of a dialect.
func (m *Mirror) Write(d Dialect) (string, error) { return write("mirror", d, m) }
