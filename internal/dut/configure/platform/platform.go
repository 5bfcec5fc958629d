// Package platform knows the kinds of devices that NoDrop configures, by the names that flags and manifests
// have.
package platform

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/container"
	"nodrop.dev/nodrop/internal/dut/configure/files"
	"nodrop.dev/nodrop/internal/dut/configure/iproute2"
	"nodrop.dev/nodrop/internal/dut/configure/netconf"
	"nodrop.dev/nodrop/internal/dut/configure/nftables"
	"nodrop.dev/nodrop/internal/dut/configure/openvswitch"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
)

// Platform is a kind of device.
type Platform struct {
	Name     string
	Language configure.Language
	// Keys names the keys of the device's Secret.
	Keys string
	// Driver returns a driver for one device. It does not connect yet, and fails for keys of the Secret that are missing or
	// cannot work.
	Driver func(configure.Reach) (configure.Driver, error)
}

// All are all platforms, by their names.
var All = slices.SortedFunc(slices.Values(append([]*Platform{
	byCommandLine("eos", sshcli.EOS),
	{"files", files.Language{}, sshaccess.Keys, func(r configure.Reach) (configure.Driver, error) {
		access, err := accessTo(r)
		if err != nil {
			return nil, err
		}
		return files.New(access, r.Files, r.Reload)
	}},
	byCommandLine("frr", sshcli.FRR),
	byCommandLine("iosxe", sshcli.IOSXE),
	byCommandLine("junos", sshcli.Junos),
	byCommands("iproute2", iproute2.Language{}, iproute2.New),
	byCommandLine("nxos", sshcli.NXOS),
	{"netconf", netconf.Language{}, sshaccess.Keys, func(r configure.Reach) (configure.Driver, error) {
		if err := byAddress(r); err != nil {
			return nil, err
		}
		c, err := sshaccess.ReadConfig(r)
		if err != nil {
			return nil, err
		}
		return netconf.New(c)
	}},
	byCommands("nftables", nftables.Language{}, nftables.New),
	byCommands("openvswitch", openvswitch.Language{}, openvswitch.New),
	byCommandLine("srlinux", sshcli.SRLinux),
}, overGRPC...)), func(a, b *Platform) int { return strings.Compare(a.Name, b.Name) })

// byCommandLine returns a platform whose devices have a command line.
func byCommandLine(name string, shell *sshcli.Shell) *Platform {
	return byCommands(name, shell.Dialect, func(access commands.Access) (configure.Driver, error) { return sshcli.New(shell, access) })
}

// byCommands returns a platform on whose devices commands are run, by SSH or in a container.
func byCommands(name string, language configure.Language, driver func(commands.Access) (configure.Driver, error)) *Platform {
	return &Platform{name, language, sshaccess.Keys, func(r configure.Reach) (configure.Driver, error) {
		access, err := accessTo(r)
		if err != nil {
			return nil, err
		}
		return driver(access)
	}}
}

// byAddress fails for a device in a container.
func byAddress(r configure.Reach) error {
	if r.Container != "" {
		return fmt.Errorf("container: Invalid value: %q: devices of this platform are reached by their server: give its address", r.Container)
	}
	return nil
}

// accessTo returns the way to run commands on a device.
func accessTo(r configure.Reach) (commands.Access, error) {
	if r.Container != "" {
		return container.Config{Name: r.Container, Timeout: r.Timeout}, nil
	}
	return sshaccess.ReadConfig(r)
}

// Named returns the platform with a name. It fails with a message that names all platforms.
func Named(name string) (*Platform, error) {
	i := slices.IndexFunc(All, func(p *Platform) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("Unsupported value: %q: want %s", name, Names()) //nolint:staticcheck // in the form of field errors, after the name of a field
	}
	return All[i], nil
}

// Names returns the names of all platforms in one text, for help and messages.
func Names() string {
	var names []string
	for _, p := range All {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
