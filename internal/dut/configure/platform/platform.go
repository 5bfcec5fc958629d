// Package platform knows the kinds of devices that NoDrop configures, by the names that flags and manifests
// have.
package platform

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/netconf"
	"nodrop.dev/nodrop/internal/dut/configure/nftables"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
)

// Platform is a kind of device that is reached by SSH.
type Platform struct {
	Name     string
	Language configure.Language
	// Driver returns a driver for one device. It does not connect yet.
	Driver func(sshaccess.Config) (configure.Driver, error)
}

// All are all platforms.
var All = []*Platform{
	{"frr", sshcli.FRR.Dialect, func(c sshaccess.Config) (configure.Driver, error) { return sshcli.New(sshcli.FRR, c) }},
	{"netconf", netconf.Language{}, netconf.New},
	{"nftables", nftables.Language{}, nftables.New},
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
