package iproute2

import (
	"errors"
	"fmt"
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
	// show prints the routes of the main table that people have added, behind lines with their families and protocols. Routes of the
	// kernel and of routing daemons have other protocols. The output in JSON has the destination and the label that a route adds
	// under one name, dst.
	show    = `for family in -4 -6 "-f mpls"; do for protocol in boot static; do echo "routes $protocol $family"; ip $family -o route show proto $protocol || exit 1; done; done`
	version = "uname -sr; ip -V"
)

// batch is the command that reads changes of a family from its input. It ends with the first one that the device rejects.
func batch(family string) string { return "ip " + family + " -batch -" }

// New returns a driver for a device whose user may run ip. It does not connect yet.
func New(access commands.Access) (configure.Driver, error) {
	return commands.NewShellDriver(access, Language{}, kind, func(s *commands.Shell) configure.Session { return &session{s} })
}

// software matches the names and versions of the kernel and of ip.
var software = regexp.MustCompile(`(?m)^Linux \S+|\biproute2-[^\s,]+`)

// kind is Linux with its routes.
var kind = commands.Kind{
	Version: version, Name: "is Linux with iproute2", Wanted: "a Linux device with ip of iproute2, and a user who may run it",
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
	return Language{}.Parse(reported(out))
}

// reported returns the routes that the device printed as a configuration.
func reported(out string) string {
	var text strings.Builder
	family, protocol := "", ""
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case len(words) > 2 && words[0] == "routes":
			protocol, family = words[1], strings.Join(words[2:], " ")
		default:
			text.WriteString(newRoute(family, append(words, "proto", protocol)).String() + "\n")
		}
	}
	return text.String()
}

// maxComplaint bounds what the device says to a change, in bytes.
const maxComplaint = 400

// Change implements configure.Session. Each line takes effect at once, so that a rejected one leaves a part of the change.
func (s *session) Change(have, want configure.Configuration) (answers []configure.Answer, _ error) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil, err
	}
	all := changes(from, to)
	for _, family := range families {
		var lines []change
		input := ""
		for _, c := range all {
			if c.family == family {
				lines = append(lines, c)
				input += c.line() + "\n"
			}
		}
		if len(lines) == 0 {
			continue
		}
		began := time.Now()
		_, err := s.Run(batch(family), input)
		a := configure.Answer{Command: fmt.Sprintf("%s, with %d lines", batch(family), len(lines)), Took: time.Since(began)}
		var failed *commands.Error
		switch {
		case errors.As(err, &failed):
			a.Rejected = true
			if err := s.name(&a, failed.Text, lines, to); err != nil {
				return append(answers, a), err
			}
			return append(answers, a), &configure.RejectedError{Answer: a}
		case err != nil:
			return answers, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// place matches the line of ip with the number of the line that it could not carry out.
var place = regexp.MustCompile(`(?m)^Command failed .*:(\d+)\s*$`)

// name names the line that was rejected. ip prints no number for a line that it cannot read: then the first one that the device
// has not carried out is meant.
func (s *session) name(a *configure.Answer, complaint string, lines []change, to []route) error {
	a.Text = human.Cut(strings.TrimSpace(place.ReplaceAllString(complaint, "")), maxComplaint)
	if found := place.FindStringSubmatch(complaint); found != nil {
		if i, err := strconv.Atoi(found[1]); err == nil && i >= 1 && i <= len(lines) {
			a.Command = lines[i-1].String()
		}
		return nil
	}
	now, err := s.Running()
	if err != nil {
		return err
	}
	has, err := read(string(now))
	if err != nil {
		return err
	}
	left := changes(has, to)
	if i := slices.IndexFunc(lines, func(c change) bool { return slices.Contains(left, c) }); i >= 0 {
		a.Command = lines[i].String()
	}
	return nil
}
