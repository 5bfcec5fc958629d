package sshcli

import (
	"regexp"

	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// Shell describes the command line of a kind of device.
type Shell struct {
	// name of the device's software, for messages.
	name string
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
	// Dialect of the configurations.
	Dialect *text.Dialect
}

// FRR is FRRouting, whose shell vtysh answers as the login shell or a forced command. It has no transactions:
// each line takes effect at once, and lines before one that is rejected stay.
var FRR = &Shell{
	name:     "FRR",
	prompt:   regexp.MustCompile(`(?:^|\n)[\w.\-]+(?:\(config[\w\-]*\))?# ?$`),
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
		Secrets:   regexp.MustCompile(`(?i)\b(password|secret|community|key-string|md5)((?: \d)?) \S+`),
	},
}
