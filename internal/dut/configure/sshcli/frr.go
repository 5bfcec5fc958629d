package sshcli

import (
	"regexp"

	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// FRR is FRRouting, whose shell vtysh answers as the login shell or a forced command, or runs in a container. It has no transactions:
// each line takes effect at once, and lines before one that is rejected stay.
var FRR = &Shell{
	name:    "FRR",
	program: "vtysh",
	// Between the removal of a name and the next one the prompt is (null)(config)#.
	prompt:   regexp.MustCompile(`(?:^|\n)(?:[\w.\-]+|\(null\))(?:\(config[\w\-]*\))?# ?$`),
	setup:    []string{"terminal length 0"},
	show:     "show running-config",
	enter:    "configure terminal",
	leave:    "end",
	version:  "show version",
	software: regexp.MustCompile(`(?m)^FRRouting [\w.+~\-]+`),
	rejected: regexp.MustCompile(`(?m)^(?:%|\S+: command not found|There is no such|.*[Ii]nvalid )`),
	Dialect: &text.Dialect{
		Comments:  []string{"!", "#", "Building configuration", "Current configuration", "frr version ", "frr defaults "},
		Closing:   []string{"exit", "end"},
		Permanent: []string{"interface ", "vrf ", "line vty"},
		Exit:      "exit",
		Always:    "hostname ", AlwaysExample: "hostname leaf-1", // Without one, vtysh prints the name of the machine.
		Secrets: regexp.MustCompile(`(?i)\b(password|secret|community|key-string|md5)((?: \d)?) \S+`),
	},
}
