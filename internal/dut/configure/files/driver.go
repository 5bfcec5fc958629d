package files

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// New returns a driver for a device with files, and a user who may replace them and run the reload command. It does not connect yet.
func New(access commands.Access, paths []string, reload string) (configure.Driver, error) {
	l := Language{Paths: paths, Reload: reload}
	if err := l.Check(); err != nil {
		return nil, err
	}
	return commands.NewShellDriver(access, l, kind, func(s *commands.Shell) configure.Session { return &session{s, l} })
}

// software matches the name and version of the kernel: the command does not tell what reads the files.
var software = regexp.MustCompile(`(?m)^Linux \S+`)

// kind is a device with a shell.
var kind = commands.Kind{
	Version: "uname -sr", Name: "is Linux", Wanted: "a Linux device with a shell, and a user who may read and replace the files",
	Software: commands.MatchesIn(software, 1),
}

// session is a connection on which commands are run.
type session struct {
	*commands.Shell
	language Language
}

var _ configure.Session = (*session)(nil)

// Running implements configure.Session.
func (s *session) Running() (configure.Configuration, error) {
	out, err := s.Read(s.language.show())
	if err != nil {
		return "", err
	}
	c, marked, err := s.language.reported(out)
	if err != nil {
		return "", err
	}
	text, err := write(c)
	if err == nil && marked {
		text = unloaded + text
	}
	return text, err
}

// reported reads what the script prints.
func (l Language) reported(out string) (c contents, marked bool, _ error) {
	c = contents{}
	for _, p := range l.Paths {
		head, rest, _ := strings.Cut(out, "\n")
		length, is := strings.CutPrefix(head, wordFile+" ")
		if !is {
			if head != wordNone {
				return nil, false, fmt.Errorf("%w: reading %s, the device printed %.80q", configure.ErrUnreachable, p, head)
			}
			c[p], out = nil, rest
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(length))
		if err != nil || n < 0 || n > len(rest) {
			return nil, false, fmt.Errorf("%w: %s was changed while it was read", configure.ErrUnreachable, p)
		}
		content := rest[:n]
		if !utf8.ValidString(content) || strings.Contains(content, "\x00") {
			return nil, false, fmt.Errorf("%w: %s has no text in UTF-8: leave it out of the files of the device", configure.ErrRefused, p)
		}
		c[p], out = &content, rest[n:]
	}
	return c, strings.TrimSpace(out) == wordMark, nil
}

// maxComplaint bounds what the device says to a change, in bytes: programs explain what is wrong with a file in some lines.
const maxComplaint = 2000

// Change implements configure.Session. All files are written next to the former ones, then replaced, and then the command reloads. If it
// fails, the device has the new files.
func (s *session) Change(have, want configure.Configuration) (answers []configure.Answer, _ error) {
	from, to, err := configure.ReadBoth(have, want, read)
	if err != nil {
		return nil, err
	}
	if _, err := s.answer("removing what an earlier session left", s.language.prepare(), "", true); err != nil {
		return nil, err
	}
	var replaced, removed []string
	for _, p := range slices.Sorted(maps.Keys(to)) {
		content := to[p]
		switch {
		case same(from[p], content):
			continue
		case content == nil:
			removed = append(removed, p)
			answers = append(answers, configure.Answer{Command: "remove " + p})
			continue
		}
		a, err := s.answer(replacing(p, *content), stage(p, len(*content)), *content, true)
		answers = append(answers, a)
		if err != nil {
			return answers, err
		}
		replaced = append(replaced, p)
	}
	a, err := s.answer(s.language.Reload, s.language.effect(replaced, removed), "", false)
	return append(answers, a), err
}

// answer runs a script, and returns what it complained about as the answer to a command. MayBeBusy reports whether the status busy means that a
// later attempt may succeed.
func (s *session) answer(command, script, input string, mayBeBusy bool) (configure.Answer, error) {
	began := time.Now()
	_, err := s.Run(script, input)
	a := configure.Answer{Command: s.language.Mask(command), Took: time.Since(began)}
	var failed *commands.Error
	switch {
	case !errors.As(err, &failed):
		return a, err
	case mayBeBusy && failed.Status == busy:
		return a, fmt.Errorf("%w: %s", configure.ErrUnreachable, failed.Text)
	}
	a.Rejected, a.Text = true, human.Cut(s.language.Mask(failed.Text), maxComplaint)
	if a.Text == "" {
		a.Text = fmt.Sprintf("it ended with status %d", failed.Status)
	}
	return a, &configure.RejectedError{Answer: a}
}
