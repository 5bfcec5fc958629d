package sshcli

import (
	"regexp"

	"nodrop.dev/nodrop/internal/dut/configure/srlinux"
)

// enterSRLinux enters the candidate of NoDrop. A private candidate with a name outlives its session, and keeps no other user out.
const enterSRLinux = "enter candidate private name " + sessionName

// discardSRLinux discards what is left in that candidate.
var discardSRLinux = []string{enterSRLinux, "discard now"}

// SRLinux is Nokia SR Linux. Lines are entered in a private candidate, which is committed until a command accepts it. Sources: Configuration Basics Guide,
// Configuration management (documentation.nokia.com/srlinux), for candidates and their commits; the YANG module srl_nokia-configuration for the list
// of commits and their states; napalm-srlinux (napalm.srlinux.dev/guide/commit-confirm) for the commands that accept and reject a commit; and the platform
// nokia_srl of scrapligo for prompts, the preparation of the terminal and messages. A commit is not saved: a device that is reloaded has its startup configuration.
var SRLinux = &Shell{
	name: "Nokia SR Linux",
	// A toolbar may follow until the terminal is prepared. A prompt has two lines, which no configuration has, so that it is found before others.
	prompt:   regexp.MustCompile(`(?m)^--\{[^\n]*\}--\[[^\n]*\]--[^\S\n]*\n[A-Da-d]:[^\s#]+# ?$`),
	setup:    []string{"environment cli-engine type basic", "environment complete-on-space false"},
	show:     "info from running /",
	enter:    enterSRLinux,
	version:  "show version",
	software: regexp.MustCompile(`(?m)^Software Version *: *(\S+)`),
	// "Error: ...", "Parsing error: ..." and the like.
	rejected: regexp.MustCompile(`(?m)^\s*(?:[A-Z]\w+ )?[Ee]rror: `),
	transaction: &transaction{
		left: "info from state system configuration commit *",
		// The name of the candidate, and a state before complete or failed.
		pending:   regexp.MustCompile(`\bname "?` + sessionName + `"?\s[^{}]*\bstatus (?:validating|publishing|unconfirmed|reverting)\b`),
		prepare:   discardSRLinux,
		candidate: "info /",
		compare:   "diff flat",
		commit:    "commit confirmed timeout 120",
		running:   "info from running /",
		confirm:   "tools system configuration confirmed-accept",
		abort:     []string{"discard now"},
		// A commit that the device has taken back by itself is not rejected any more, which is as good.
		revert: append([]string{"tools system configuration confirmed-reject"}, discardSRLinux...),
		done:   discardSRLinux,
	},
	Dialect: srlinux.Language{},
}
