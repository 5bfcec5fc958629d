package openvswitch

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// Commands that the device runs. They have no terminal, so that nothing has to be recognized in what it prints.
const (
	show    = `bridges=$(ovs-vsctl list-br) || exit 1; for b in $bridges; do echo "bridge $b"; ovs-ofctl -O OpenFlow13 --no-stats --no-names dump-flows "$b" || exit 1; done`
	version = "ovs-vsctl --version && ovs-vsctl list-br"
)

// replace is the command that reads the flows of a bridge from its input, in place of all flows that the bridge has.
func replace(bridge string) string {
	return "ovs-ofctl -O OpenFlow13 --bundle replace-flows " + bridge + " -"
}

// New returns a driver for a device whose user may run ovs-vsctl and ovs-ofctl. It does not connect yet.
func New(access commands.Access) (configure.Driver, error) {
	return commands.NewShellDriver(access, Language{}, kind, func(s *commands.Shell) configure.Session { return &session{s} })
}

// software matches the name and version of the programs.
var software = regexp.MustCompile(`^ovs-vsctl \((.+)\) (\S+)`)

// kind is a device with Open vSwitch.
var kind = commands.Kind{
	Version: version, Name: "has Open vSwitch", Wanted: "a device with Open vSwitch, and a user who may run ovs-vsctl and ovs-ofctl",
	Software: func(output string) string {
		found := software.FindStringSubmatch(output)
		if found == nil {
			return ""
		}
		return found[1] + " " + found[2]
	},
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
	return Language{}.Parse(out)
}

// maxComplaint bounds what the device says to a change, in bytes: it prints messages of the protocol.
const maxComplaint = 400

// Change implements configure.Session. The flows of a bridge are replaced in one transaction, in which other flows stay as they
// are.
func (s *session) Change(have, want configure.Configuration) (answers []configure.Answer, _ error) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil, err
	}
	reject := func(a configure.Answer) ([]configure.Answer, error) {
		a.Rejected = true
		return append(answers, a), &configure.RejectedError{Answer: a}
	}
	for _, bridge := range slices.Sorted(maps.Keys(from)) {
		if _, wanted := to[bridge]; !wanted {
			return reject(configure.Answer{Command: "bridge " + bridge, Text: "the device has this bridge, and NoDrop removes none: add it with its flows"})
		}
	}
	for _, bridge := range slices.Sorted(maps.Keys(to)) {
		now, has := from[bridge]
		if !has {
			return reject(configure.Answer{Command: "bridge " + bridge, Text: "the device has no such bridge, and NoDrop adds none"})
		}
		if slices.Equal(now, to[bridge]) {
			continue
		}
		began := time.Now()
		_, err := s.Run(replace(bridge), strings.Join(to[bridge], "\n")+"\n")
		a := configure.Answer{Command: fmt.Sprintf("%s, with %d flows", replace(bridge), len(to[bridge])), Took: time.Since(began)}
		var failed *commands.Error
		switch {
		case errors.As(err, &failed):
			a.Text = human.Cut(failed.Text, maxComplaint)
			return reject(named(a, to[bridge]))
		case err != nil:
			return answers, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// place matches where ovs-ofctl found an error in its input, and what it is.
var place = regexp.MustCompile(`(?m)^ovs-ofctl: -:(\d+): (.*)$`)

// named names the flow that was rejected, where the device says which.
func named(a configure.Answer, lines []string) configure.Answer {
	found := place.FindStringSubmatch(a.Text)
	if found == nil {
		return a
	}
	if i, err := strconv.Atoi(found[1]); err == nil && i >= 1 && i <= len(lines) {
		a.Command, a.Text = lines[i-1], found[2]
	}
	return a
}
