package sshcli

import (
	"regexp"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// Junos is Juniper Junos. A configuration has the lines that "display set" prints. They are entered into an exclusive candidate, which a commit
// replaces as a whole until it is confirmed; a candidate whose session ends is discarded.
var Junos = &Shell{
	name:     "Juniper Junos",
	prompt:   regexp.MustCompile(`(?:^|\n)(?:\{[\w:\-]+\} ?)?(?:\[edit[^\]\n]*\]\n)?[\w.\-]+@[\w.\-]+[>#] ?$`),
	setup:    []string{"set cli complete-on-space off", "set cli screen-length 0", "set cli screen-width 0"},
	show:     "show configuration | display set",
	enter:    "configure exclusive",
	version:  "show version",
	software: regexp.MustCompile(`(?m)^ *(?:Junos: (\S+)|JUNOS .*\[(\S+)\])`),
	rejected: regexp.MustCompile(`(?m)^\s*(?:error: |syntax error|unknown command|missing argument|missing mandatory|invalid |commit failed)`),
	busy:     regexp.MustCompile(`configuration database (?:is )?locked`),
	transaction: &transaction{
		left:      "show system commit",
		pending:   regexp.MustCompile(`(?m)^0 .* rollback in `),
		resume:    []string{"configure exclusive"},
		revert:    []string{"rollback 1"},
		check:     "run show system commit",
		finish:    []string{"commit", "exit"},
		candidate: "show | display set",
		compare:   "show | compare",
		commit:    "commit confirmed 2",
		running:   "run show configuration | display set",
		confirm:   "commit",
		abort:     []string{"rollback 0", "exit"},
		done:      []string{"exit"},
	},
	Dialect: &text.Dialect{
		// The version is the one of the software, which an upgrade changes.
		Comments: []string{"#", "{", "set version "},
		Negation: negateSet,
		Secrets:  regexp.MustCompile(`(?i)\b(community|encrypted-password|plain-text-password-value|secret|authentication-key|authentication-password|privacy-password|simple-password|ascii-text|hexadecimal)() \S+`),
	},
}

// negateSet returns the command that removes a line of "display set".
func negateSet(line string) string {
	for has, removes := range map[string]string{"set ": "delete ", "deactivate ": "activate ", "protect ": "unprotect "} {
		if rest, is := strings.CutPrefix(line, has); is {
			return removes + rest
		}
	}
	return "delete " + line
}
