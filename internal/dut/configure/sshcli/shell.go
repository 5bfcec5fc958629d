package sshcli

import (
	"regexp"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Shell describes the command line of a kind of device.
type Shell struct {
	// name of the device's software, for messages.
	name string
	// program is the command line, in containers of such devices; empty if it was not tried in one.
	program string
	// prompt matches the end of what the device writes when it waits for a command.
	prompt *regexp.Regexp
	// setup are commands at the beginning of a session, show prints the configuration, and enter and leave
	// begin and end changes to it. A transaction has its own ends.
	setup              []string
	show, enter, leave string
	// version prints what software the device has. software matches its name and version there, or has groups for the version only.
	version  string
	software *regexp.Regexp
	// rejected matches the answer to a command that was not carried out.
	rejected *regexp.Regexp
	// busy matches the answer to enter while another session changes the configuration; nil if none can keep others out.
	busy *regexp.Regexp
	// transaction describes how lines take effect together; nil if each does at once.
	transaction *transaction
	// Dialect of the configurations.
	Dialect Dialect
}

// Dialect is a language whose commands are entered one after the other.
type Dialect interface {
	configure.Language
	// IsRemoval reports whether a command removes a line of what the device has: another removal may have taken it along.
	IsRemoval(command string, have configure.Configuration) bool
}
