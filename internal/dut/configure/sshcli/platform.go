package sshcli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// Platform describes the command line of a kind of device.
type Platform struct {
	// Name of the platform, as flags and manifests have it.
	Name string
	// prompt matches the end of what the device writes when it waits for a command.
	prompt *regexp.Regexp
	// setup are commands at the beginning of a session, show prints the configuration, and enter and leave
	// begin and end changes to it.
	setup              []string
	show, enter, leave string
	// version prints what software the device has, and software matches its name and version there.
	version  string
	software *regexp.Regexp
	// rejected matches the answer to a command that was not carried out.
	rejected *regexp.Regexp
	dialect  *text.Dialect
}

// FRR is FRRouting, whose shell vtysh answers as the login shell or a forced command. It has no transactions:
// each line takes effect at once, and lines before one that is rejected stay.
var FRR = &Platform{
	Name:     "frr",
	prompt:   regexp.MustCompile(`(?:^|\n)[\w.\-]+(?:\(config[\w\-]*\))?# ?$`),
	setup:    []string{"terminal length 0"},
	show:     "show running-config",
	enter:    "configure terminal",
	leave:    "end",
	version:  "show version",
	software: regexp.MustCompile(`(?m)^FRRouting [\w.+~\-]+`),
	rejected: regexp.MustCompile(`(?m)^(?:%|\S+: command not found|There is no such|.*[Ii]nvalid )`),
	dialect: &text.Dialect{
		Comments:  []string{"!", "#", "Building configuration", "Current configuration", "frr version ", "frr defaults "},
		Closing:   []string{"exit", "end"},
		Permanent: []string{"interface ", "vrf ", "line vty"},
		Exit:      "exit",
		Secrets:   regexp.MustCompile(`(?i)\b(password|secret|community|key-string|md5)((?: \d)?) \S+`),
	},
}

// Platforms are all platforms.
var Platforms = []*Platform{FRR}

// Dialect of the platform's configurations.
func (p *Platform) Dialect() *text.Dialect { return p.dialect }

// Named returns the platform with a name. It fails with a message that names all platforms.
func Named(name string) (*Platform, error) {
	i := slices.IndexFunc(Platforms, func(p *Platform) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("Unsupported value: %q: want %s", name, Names()) //nolint:staticcheck // in the form of field errors, after the name of a field
	}
	return Platforms[i], nil
}

// Names returns the names of all platforms in one text, for help and messages.
func Names() string {
	var names []string
	for _, p := range Platforms {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
