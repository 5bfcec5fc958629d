//go:build linux

package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/runfolder"
	"nodrop.dev/nodrop/internal/dut/device"
)

const (
	// DirEnv names the directory that contains kernels.
	DirEnv = "NODROP_MACHINES"
	// Share is the folder of the machine that has the files of its configuration.
	Share = "/run/vm"
	// folderPrefix begins the names of folders with the files of a machine.
	folderPrefix = "machine-"
	// linkMTU lets frames of 9216 bytes through, the largest of the API: 14 of them are the Ethernet header and 4 the FCS.
	linkMTU = 9198
	// goneWithin bounds the wait for the end of QEMU and of its interfaces.
	goneWithin = 20 * time.Second
)

// Config describes a machine.
type Config struct {
	// Dir is the directory that contains kernels, and Kernel the folder in it.
	Dir, Kernel string
	// Modules are loaded when the machine has started.
	Modules []string
	// Processors of the machine, and its memory in bytes.
	Processors int
	Memory     int64
	// Interfaces of the machine.
	Interfaces []Interface
	// Configuration is a script that Configure runs in the machine; empty if there is none.
	Configuration string
	// Files are further files in the folder Share of the machine.
	Files map[string][]byte
}

// Interface is a card of the machine.
type Interface struct {
	// TAP is the name of its other end, in the network namespace of the thread that calls Prepare.
	TAP string
	// Name of the card in the machine.
	Name string
}

// Machine is a device that is an emulated machine.
type Machine struct {
	config Config
	// boot is the longest time of a start until the machine is ready.
	boot time.Duration

	tester  netns.NsHandle
	folder  *runfolder.Folder
	process *process
	// accelerator that QEMU uses, and release of the kernel.
	accelerator, release string

	// mu is held while a script runs in the machine.
	mu     sync.Mutex
	number int
}

var _ device.Driver = (*Machine)(nil)

// New returns a machine, which Prepare starts.
func New(c Config) *Machine {
	return &Machine{config: c, boot: bootWithin, tester: netns.None()}
}

// Capabilities implements device.Driver.
func (m *Machine) Capabilities() device.Capabilities {
	return device.Of(v1alpha1.Device{Machine: &v1alpha1.MachineDevice{}})
}

// Describe returns a description of the device for the report. It is complete after Prepare.
func (m *Machine) Describe() string {
	text := fmt.Sprintf("emulated machine with the kernel %s", m.config.Kernel)
	if m.release != "" {
		text += " (" + m.release + ")"
	}
	processors := "1 processor"
	if n := m.config.Processors; n > 1 {
		processors = fmt.Sprintf("%d processors", n)
	}
	text += fmt.Sprintf(", %s, %d MiB", processors, m.config.Memory>>20)
	switch m.accelerator {
	case kvm:
		text += ", KVM"
	case tcg:
		text += ", emulated processors"
	}
	return text
}

// Emulated reports whether the processors of the machine are emulated.
func (m *Machine) Emulated() bool { return m.accelerator == tcg }

// Release returns the release of the machine's kernel after Prepare.
func (m *Machine) Release() string { return m.release }

// Prepare starts the machine, and returns when its interfaces are up. It needs root.
func (m *Machine) Prepare(ctx context.Context) error {
	err := m.prepare(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("starting an emulated machine: %w", err), m.Restore(ctx))
	}
	return err
}

func (m *Machine) prepare(ctx context.Context) (err error) {
	if err := Refusal(Look(m.config.Dir, m.config.Kernel, m.config.Modules)); err != nil {
		return err
	}
	files, err := kernelFiles(m.config.Dir, m.config.Kernel)
	if err != nil {
		return err
	}
	m.release = files.release
	if m.tester, err = netns.Get(); err != nil {
		return fmt.Errorf("looking at the own network namespace: %w", err)
	}
	if m.folder, err = runfolder.New(runfolder.Dir, folderPrefix); err != nil {
		return err
	}
	if err := m.start(ctx, files); err != nil {
		return err
	}
	return netif.In(m.tester, func() error { return m.raise(ctx) })
}

// raise sets the TAPs of the machine up.
func (m *Machine) raise(ctx context.Context) error {
	var taps []string
	for _, i := range m.config.Interfaces {
		tap, err := netlink.LinkByName(i.TAP)
		if err != nil {
			return fmt.Errorf("looking for interface %s, which QEMU makes: %w", i.TAP, err)
		}
		if err := netlink.LinkSetMTU(tap, linkMTU); err != nil {
			return fmt.Errorf("setting the MTU of interface %s: %w", i.TAP, err)
		}
		if err := netlink.LinkSetUp(tap); err != nil {
			return fmt.Errorf("bringing up interface %s: %w", i.TAP, err)
		}
		taps = append(taps, i.TAP)
	}
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	return netif.Wait(ctx, taps, netif.Running)
}

// Configure runs the configuration in a network namespace of the machine that is made anew, and that has all its interfaces.
func (m *Machine) Configure(ctx context.Context) error {
	if m.config.Configuration == "" {
		return nil
	}
	return m.ConfigureWith(ctx, m.config.Configuration)
}

// ConfigureWith is Configure with another configuration.
func (m *Machine) ConfigureWith(ctx context.Context, script string) error {
	out, err := m.run(ctx, "configure", script)
	if err != nil {
		return fmt.Errorf("configuring the machine: %w%s", err, lastLines(out))
	}
	return nil
}

// Run runs a script with bash in the first network namespace of the machine, and returns what it prints.
func (m *Machine) Run(ctx context.Context, script string) (string, error) {
	out, err := m.run(ctx, "run", script)
	if err != nil {
		return out, fmt.Errorf("%w%s", err, lastLines(out))
	}
	return out, nil
}

// run runs a script in the machine in a way that the machine knows.
func (m *Machine) run(ctx context.Context, how, script string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return "", errors.New("the machine does not run")
	}
	m.number++
	file := filepath.Join(m.share(), fmt.Sprint(m.number))
	if err := os.WriteFile(file+".sh", []byte(script), 0o600); err != nil {
		return "", err
	}
	code, err := m.process.ask(ctx, m.number, how)
	out, reading := os.ReadFile(file + ".out")
	switch {
	case err != nil:
		return string(out), err
	case reading != nil:
		return "", fmt.Errorf("reading what a script in the machine printed: %w", reading)
	case code != 0:
		return string(out), fmt.Errorf("the script ended with exit code %d", code)
	}
	return string(out), nil
}

// share is the folder that the machine finds at Share.
func (m *Machine) share() string { return filepath.Join(m.folder.Path, "share") }

// Reset implements device.Driver.
func (m *Machine) Reset(context.Context) error { return device.CannotReset(m.Capabilities()) }

// Broken waits until the machine ends by itself, and returns the reason, or until ctx ends.
func (m *Machine) Broken(ctx context.Context) error {
	p := m.process
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		return p.end()
	case <-ctx.Done():
		return nil
	}
}

// Restore ends the machine, and removes its interfaces and files. It may be called more than once.
func (m *Machine) Restore(ctx context.Context) error {
	var errs []error
	if m.process != nil {
		errs = append(errs, m.process.stop())
		m.process = nil
	}
	if m.tester.IsOpen() {
		errs = append(errs, netif.In(m.tester, m.removeTAPs), m.tester.Close())
	}
	errs = append(errs, m.folder.Remove())
	m.folder = nil
	return errors.Join(errs...)
}

// removeTAPs removes TAPs that did not end with QEMU.
func (m *Machine) removeTAPs() error {
	var errs []error
	for _, i := range m.config.Interfaces {
		if tap, err := netlink.LinkByName(i.TAP); err == nil && tap.Type() == "tuntap" {
			if err := netlink.LinkDel(tap); err != nil {
				errs = append(errs, fmt.Errorf("removing interface %s: %w", i.TAP, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Clean removes what processes that were killed have left of their machines, and returns how many machines that were.
func Clean() (int, error) { return runfolder.Clean(runfolder.Dir, folderPrefix, nil) }

// lastLines returns the end of an output, which contains the error.
func lastLines(output string) string { return human.LastLines(output, 12) }
