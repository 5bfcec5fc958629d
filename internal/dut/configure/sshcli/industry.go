package sshcli

import (
	"regexp"

	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// Devices whose command line resembles Cisco's have these in common.
var (
	// industryPrompt matches prompts of privileged users, such as leaf-1(config-if-Et1/1)#.
	industryPrompt = regexp.MustCompile(`(?:^|\n)[\w.\-]+(?:\([\w.\-+/: ]+\))*# ?$`)
	// industryRejected matches messages that begin with "%", but for "% Warning".
	industryRejected = regexp.MustCompile(`(?m)^(?:% ?(?:[^Ww\s]|[Ww][^Aa])|ERROR: |Cannot |Syntax error while parsing |[Ii]nvalid |.*[Aa]uthorization failed)`)
	// industrySecrets matches secrets behind their kind, and behind the kind of their encryption.
	industrySecrets = regexp.MustCompile(`(?i)\b(password|secret|community|key-string|key|md5|auth|priv)((?: (?:\d+|sha\S*|md5|aes\S*|3?des|scrypt|encrypted|localized))*) \S+`)
)

// sessionName names the change of NoDrop among the sessions of EOS, whose prompts have the first six characters of a name.
const sessionName = "nodrop"

// EOS is Arista EOS. Lines are entered in a configure session, which is committed with a timer.
var EOS = &Shell{
	name:     "Arista EOS",
	prompt:   industryPrompt,
	setup:    []string{"terminal length 0", "terminal width 32767"},
	show:     "show running-config",
	enter:    "configure session " + sessionName,
	version:  "show version",
	software: regexp.MustCompile(`(?m)^Software image version: +(\S+)`),
	rejected: industryRejected,
	transaction: &transaction{
		left:      "show configuration sessions detail",
		pending:   regexp.MustCompile(`(?m)^Session with pending commit timer: ` + sessionName + `\s*$|^[ *]*` + sessionName + ` +pending`),
		prepare:   []string{"no configure session " + sessionName}, // One that was completed keeps its name, and is not entered again.
		candidate: "show session-config",
		compare:   "show session-config diffs",
		commit:    "commit timer 00:02:00",
		running:   "show running-config",
		confirm:   "configure session " + sessionName + " commit",
		// In the mode of an access list, abort ends the list only.
		abort:  []string{"end", "configure session " + sessionName + " abort", "no configure session " + sessionName},
		revert: []string{"configure session " + sessionName + " abort", "no configure session " + sessionName},
		done:   []string{"no configure session " + sessionName},
	},
	Dialect: &text.Dialect{
		Comments:  []string{"!"},
		Closing:   []string{"exit", "end"},
		Permanent: []string{"interface Ethernet", "interface Management", "control-plane", "system control-plane"},
		Exit:      "exit",
		Negation:  text.NoNumber,
		Secrets:   industrySecrets,
	},
}

// IOSXE is Cisco IOS-XE. Each line takes effect at once: its own way back, configure replace, needs an archive on the device.
var IOSXE = &Shell{
	name:     "Cisco IOS-XE",
	prompt:   industryPrompt,
	setup:    []string{"terminal length 0", "terminal width 0"},
	show:     "show running-config",
	enter:    "configure terminal",
	leave:    "end",
	version:  "show version",
	software: regexp.MustCompile(`(?m)^Cisco IOS.* Version ([^\s,]+)`),
	rejected: industryRejected,
	Dialect: &text.Dialect{
		Comments: []string{"!", "Building configuration", "Current configuration", "version ", "ntp clock-period "},
		Closing:  []string{"exit", "end"},
		Permanent: []string{
			"interface Ethernet", "interface FastEthernet", "interface GigabitEthernet", "interface TwoGigabitEthernet", "interface FiveGigabitEthernet",
			"interface TenGigabitEthernet", "interface TwentyFiveGigE", "interface FortyGigabitEthernet", "interface HundredGigE", "interface AppGigabitEthernet",
			"line ", "control-plane", "redundancy",
		},
		Exit:     "exit",
		Negation: text.NoNumber,
		Secrets:  industrySecrets,
	},
}

// NXOS is Cisco NX-OS. Each line takes effect at once: its configure sessions know access lists and classes only.
var NXOS = &Shell{
	name:     "Cisco NX-OS",
	prompt:   industryPrompt,
	setup:    []string{"terminal length 0", "terminal width 511"},
	show:     "show running-config",
	enter:    "configure terminal",
	leave:    "end",
	version:  "show version",
	software: regexp.MustCompile(`(?m)^ *(?:NXOS|system): +version (\S+)`),
	rejected: industryRejected,
	Dialect: &text.Dialect{
		Comments:  []string{"!", "version "},
		Closing:   []string{"exit", "end"},
		Permanent: []string{"interface Ethernet", "interface mgmt", "line ", "vrf context management"},
		Exit:      "exit",
		Negation:  text.NoNumber,
		Secrets:   industrySecrets,
	},
}
