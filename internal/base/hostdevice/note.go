//go:build linux

package hostdevice

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/netif/card"
)

// Note records which interfaces a run has taken, and their state before.
type Note struct {
	// PID of the process that took them, for messages. Whether it lives is known by the
	// lock.
	PID int `json:"pid"`
	// Benchmark that is run.
	Benchmark string `json:"benchmark"`
	// Time is the time at which they were taken.
	Time time.Time `json:"time"`
	// Boot identifies the boot of the machine. A note of another boot says nothing.
	Boot string `json:"boot"`
	// Namespace is the inode of the network namespace that the interfaces came from.
	Namespace uint64 `json:"namespace"`
	// Interfaces in the order of the ports.
	Interfaces []Interface `json:"interfaces"`
}

// Interface is the state of an interface before a run.
type Interface struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	// Kind of a virtual interface, such as veth; "device" for a card.
	Kind string `json:"kind"`
	// PermanentAddress is the hardware address of a card that cannot be changed; empty if
	// it has none.
	PermanentAddress string `json:"permanentAddress,omitempty"`
	HardwareAddress  string `json:"hardwareAddress"`
	MTU              int    `json:"mtu"`
	QueueLength      int    `json:"queueLength"`
	Up               bool   `json:"up"`
	Promiscuous      bool   `json:"promiscuous,omitempty"`
	AllMulticast     bool   `json:"allMulticast,omitempty"`
	// Features are the features that can be changed (ethtool -K).
	Features map[string]bool `json:"features,omitempty"`
	// Card has the pause frames, channels, rings, coalescing and receive queues.
	Card card.Settings `json:"card,omitzero"`
	// Alias of the interface.
	Alias string `json:"alias,omitempty"`
	// Sysctls are the settings of the interface below /proc/sys/net.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// Addresses, Neighbours (permanent ones) and Routes through the interface.
	Addresses  []netlink.Addr  `json:"addresses,omitempty"`
	Neighbours []netlink.Neigh `json:"neighbours,omitempty"`
	Routes     []netlink.Route `json:"routes,omitempty"`
	// Added are addresses of the run, which the interface did not have.
	Added []netip.Prefix `json:"added,omitempty"`
}

const noteFile = "note.json"

// write puts the note into a directory. It is complete on the disk when write returns.
func (n *Note) write(dir string) error {
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the note of the interfaces: %w", err)
	}
	path := filepath.Join(dir, noteFile)
	err = writeSynced(path+".new", append(text, '\n'))
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err == nil {
			err = syncDir(d)
		}
	}
	if err != nil {
		return fmt.Errorf("writing the note of the interfaces: %w", err)
	}
	return nil
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// readNote reads the note in a directory. The error is fs.ErrNotExist where there is
// none.
func readNote(dir string) (*Note, error) {
	path := filepath.Join(dir, noteFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var n Note
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return &n, nil
}

// bootID identifies this boot of the machine.
func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identifying the boot of this machine: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
