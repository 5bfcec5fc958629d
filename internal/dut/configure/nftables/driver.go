package nftables

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// Commands that the device runs. They have no terminal, so that nothing has to be recognized in what it prints.
const (
	show = "nft -s list ruleset"
	// replace reads a configuration from its input.
	replace = "nft -f -"
	// replaceTracked ends all connections as well: the kernel would translate their frames by the rules from before.
	// Both are one command, so that a lost connection does not come between them.
	replaceTracked = "command -v conntrack >/dev/null || exit 127; nft -f - && conntrack -F"
	notFound       = 127
	version        = "uname -sr; nft --version"
)

// New returns a driver for a device whose user may run nft. It does not connect yet.
func New(access commands.Access) (configure.Driver, error) {
	return commands.NewShellDriver(access, Language{}, kind, func(s *commands.Shell) configure.Session { return &session{s} })
}

// software matches the names and versions of the kernel and of nft.
var software = regexp.MustCompile(`(?m)^(?:Linux \S+|nftables v\S+)`)

// kind is Linux with its packet filter.
var kind = commands.Kind{
	Version: version, Name: "is Linux with nftables", Wanted: "a Linux device with nft, and a user who may run it",
	Software: commands.MatchesIn(software, 2),
}

// session is a connection on which commands are run.
type session struct{ *commands.Shell }

var _ configure.Session = (*session)(nil)

// Running implements configure.Session.
func (s *session) Running() (configure.Configuration, error) {
	out, err := s.Read(show)
	if err != nil {
		return "", err
	}
	return Language{}.Parse(flush + "\n" + out)
}

// place matches where nft found an error in its input, and what it is.
var place = regexp.MustCompile(`^(?:/dev/stdin|-|<cmdline>|internal):(\d+):[\d\-]+: (?:Error: )?(.*)`)

// Change implements configure.Session. It is one transaction: if nft rejects a line, nothing changes.
func (s *session) Change(have, want configure.Configuration) ([]configure.Answer, error) {
	began := time.Now()
	command := replace
	if tracked(have) || tracked(want) {
		command = replaceTracked
	}
	_, err := s.Run(command, string(want))
	a := configure.Answer{Command: fmt.Sprintf("%s, with %d lines", replace, strings.Count(string(want), "\n"))}
	var failed *commands.Error
	switch {
	case err == nil:
		a.Took = time.Since(began)
		return []configure.Answer{a}, nil
	case !errors.As(err, &failed):
		return nil, err
	case failed.Status == notFound:
		return nil, fmt.Errorf("%w: the rules translate addresses or follow connections, and the device has no program conntrack, which ends earlier connections: install the package conntrack there", configure.ErrRefused)
	}
	a.Rejected, a.Text, a.Took = true, failed.Text, time.Since(began)
	return []configure.Answer{a}, &configure.RejectedError{Answer: rejection(a, want)}
}

// tracking matches rules with which the kernel keeps a state for each connection.
var tracking = regexp.MustCompile(`(?m)\btype nat hook\b|^\s*(?:.*\s)?ct \w`)

func tracked(c configure.Configuration) bool { return tracking.MatchString(string(c)) }

// rejection names the line that nft rejected, where it says which.
func rejection(a configure.Answer, want configure.Configuration) configure.Answer {
	found := place.FindStringSubmatch(a.Text)
	if found == nil {
		return a
	}
	lines := strings.Split(string(want), "\n")
	if i, err := strconv.Atoi(found[1]); err == nil && i >= 1 && i <= len(lines) {
		a.Command, a.Text = strings.TrimSpace(lines[i-1]), found[2]
	}
	return a
}
