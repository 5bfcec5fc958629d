package sshcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/driver/generic"
	"github.com/scrapli/scrapligo/driver/options"
	"github.com/scrapli/scrapligo/util"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// New returns a driver. It does not connect yet.
func New(shell *Shell, access commands.Access) (configure.Driver, error) {
	return commands.NewDriver(access, shell.Dialect, shell.open)
}

// open starts a session.
func (shell *Shell) open(ctx context.Context, access commands.Access) (configure.Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	transport := &line{ctx: ctx, access: access, program: shell.program}
	cli, err := generic.NewDriver(access.Describe(),
		options.WithCustomTransport(transport),
		options.WithPromptPattern(shell.prompt),
		options.WithTimeoutOps(access.AnswerWithin()),
	)
	if err == nil {
		err = cli.Open()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s := &session{cli: cli, line: transport, cancel: cancel, shell: shell, within: access.AnswerWithin()}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// session is a shell of the device.
type session struct {
	cli    *generic.Driver
	line   *line
	cancel context.CancelFunc
	shell  *Shell
	// within is how long the device may take to answer.
	within time.Duration
}

var (
	_ configure.Session   = (*session)(nil)
	_ configure.Commander = (*session)(nil)
)

// begin waits for the prompt, prepares the terminal, and takes back what an earlier session has left.
func (s *session) begin() error {
	if _, err := s.cli.GetPrompt(); err != nil {
		if refused := s.line.refused(); refused != nil {
			return refused
		}
		if errors.Is(err, util.ErrTimeoutError) {
			return fmt.Errorf("%w: the device shows no prompt of %s within %s", configure.ErrRefused, s.shell.name, s.within)
		}
		return lost(err)
	}
	if err := s.enter(s.shell.setup...); err != nil {
		return err
	}
	return s.takeBack()
}

// enter enters commands whose answers do not matter.
func (s *session) enter(commands ...string) error {
	for _, command := range commands {
		if _, err := s.send(command); err != nil {
			return err
		}
	}
	return nil
}

// send enters a command and returns the answer.
func (s *session) send(command string) (string, error) {
	r, err := s.cli.SendCommand(command)
	if err != nil {
		return "", fmt.Errorf("entering %q: %w", s.shell.Dialect.Mask(command), lost(err))
	}
	return strings.TrimSpace(r.Result), nil
}

// lost is an error of a session: what the device has done meanwhile is unknown.
func lost(err error) error {
	if errors.Is(err, configure.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
}

// Running implements configure.Session.
func (s *session) Running() (configure.Configuration, error) { return s.read(s.shell.show) }

// read reads a configuration that a command prints.
func (s *session) read(command string) (configure.Configuration, error) {
	out, err := s.send(command)
	if err != nil {
		return "", err
	}
	if s.shell.rejected.MatchString(firstLines(out)) {
		return "", fmt.Errorf("%w: the device rejected %q: %s", configure.ErrRefused, command, out)
	}
	return s.shell.Dialect.Parse(out)
}

// Software implements configure.Session.
func (s *session) Software() (string, error) {
	out, err := s.send(s.shell.version)
	found := s.shell.software.FindStringSubmatch(out)
	switch version := cmp.Or(found...); {
	case len(found) < 2:
		return version, err
	default:
		return s.shell.name + " " + cmp.Or(found[1:]...), err
	}
}

// firstLines returns the lines of an answer that may be a message: one under the place of an error, which is marked by "^".
func firstLines(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) != "^" {
		return first
	}
	second, _, _ := strings.Cut(rest, "\n")
	return second
}

// Change implements configure.Session. Without transactions each line takes effect at once, and those before one that is rejected
// stay.
func (s *session) Change(have, want configure.Configuration) (answers []configure.Answer, err error) {
	if err := s.edit(); err != nil {
		return nil, err
	}
	if s.shell.transaction != nil {
		return s.transact(have, want)
	}
	answers, rejected := s.lines(have, want)
	if errors.Is(rejected, configure.ErrUnreachable) {
		return answers, rejected
	}
	_, err = s.send(s.shell.leave)
	return answers, cmp.Or(err, rejected)
}

// edit begins a change.
func (s *session) edit() error {
	if t := s.shell.transaction; t != nil {
		if err := s.enter(t.prepare...); err != nil {
			return err
		}
	}
	out, err := s.send(s.shell.enter)
	if err != nil || !s.shell.rejected.MatchString(out) {
		return err
	}
	refused := configure.ErrRefused
	if s.shell.busy != nil && s.shell.busy.MatchString(out) {
		refused = configure.ErrUnreachable // The other session may end: a session of NoDrop whose connection was lost does.
	}
	return fmt.Errorf("%w: the device rejected %q: %s", refused, s.shell.enter, out)
}

// lines enters the commands that lead from one configuration to another, up to one that is rejected.
func (s *session) lines(have, want configure.Configuration) (answers []configure.Answer, _ error) {
	dialect := s.shell.Dialect
	for _, command := range dialect.Commands(have, want) {
		a, err := s.answer(command)
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
		// What a removal has taken along cannot be removed once more: what is read next decides.
		if a.Rejected && !dialect.IsRemoval(command, have) {
			return answers, &configure.RejectedError{Answer: a}
		}
	}
	return answers, nil
}

// answer enters a command and returns what the device said.
func (s *session) answer(command string) (configure.Answer, error) {
	began := time.Now()
	out, err := s.send(command)
	mask := s.shell.Dialect.Mask
	return configure.Answer{Command: mask(command), Text: mask(out), Rejected: s.shell.rejected.MatchString(out), Took: time.Since(began)}, err
}

// Enter implements configure.Commander. Questions on the terminal are not answered: the API refuses resets with an answer. A command is sent when the
// device has written its echo, which comes before the answer: a connection that ends before that may have lost the command, too.
func (s *session) Enter(commands []string, _ *string) error {
	for i, command := range commands {
		out, err := s.send(command)
		switch {
		case errors.Is(err, util.ErrTimeoutError):
			return fmt.Errorf("%q did not end within %s", command, s.within)
		case err != nil && i == len(commands)-1:
			return nil
		case err != nil:
			return err
		case s.shell.rejected.MatchString(out):
			return &configure.RejectedError{Answer: configure.Answer{Command: command, Text: out, Rejected: true}}
		}
	}
	return nil
}

// Close implements configure.Session.
func (s *session) Close() {
	s.cancel()
	_ = s.cli.Close()
}
