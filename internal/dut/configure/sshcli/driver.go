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
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
)

// New returns a driver. It does not connect yet.
func New(shell *Shell, access sshaccess.Config) (configure.Driver, error) {
	return sshaccess.NewDriver(access, shell.Dialect, shell.open)
}

// open starts a session.
func (shell *Shell) open(ctx context.Context, access *sshaccess.Config) (configure.Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	cli, err := generic.NewDriver(access.Address,
		options.WithCustomTransport(&line{ctx: ctx, access: access}),
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
	s := &session{cli: cli, cancel: cancel, shell: shell, within: access.AnswerWithin()}
	if err := s.begin(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// session is a shell of the device.
type session struct {
	cli    *generic.Driver
	cancel context.CancelFunc
	shell  *Shell
	// within is how long the device may take to answer.
	within time.Duration
}

var _ configure.Session = (*session)(nil)

// begin waits for the prompt, and prepares the terminal.
func (s *session) begin() error {
	if _, err := s.cli.GetPrompt(); err != nil {
		if errors.Is(err, util.ErrTimeoutError) {
			return fmt.Errorf("%w: the device shows no prompt of %s within %s", configure.ErrRefused, s.shell.name, s.within)
		}
		return lost(err)
	}
	for _, command := range s.shell.setup {
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
func (s *session) Running() (configure.Configuration, error) {
	out, err := s.send(s.shell.show)
	if err != nil {
		return "", err
	}
	if s.shell.rejected.MatchString(firstLine(out)) {
		return "", fmt.Errorf("%w: the device rejected %q: %s", configure.ErrRefused, s.shell.show, out)
	}
	return s.shell.Dialect.Parse(out)
}

// Software implements configure.Session.
func (s *session) Software() (string, error) {
	out, err := s.send(s.shell.version)
	return s.shell.software.FindString(out), err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Change implements configure.Session. Each line takes effect at once, and those before one that is rejected stay.
func (s *session) Change(have, want configure.Configuration) (answers []configure.Answer, err error) {
	if out, err := s.send(s.shell.enter); err != nil {
		return nil, err
	} else if s.shell.rejected.MatchString(out) {
		return nil, fmt.Errorf("%w: the device rejected %q: %s", configure.ErrRefused, s.shell.enter, out)
	}
	dialect := s.shell.Dialect
	var rejected error
	for _, command := range dialect.Commands(have, want) {
		began := time.Now()
		out, err := s.send(command)
		if err != nil {
			return answers, err
		}
		a := configure.Answer{Command: dialect.Mask(command), Text: dialect.Mask(out), Rejected: s.shell.rejected.MatchString(out), Took: time.Since(began)}
		answers = append(answers, a)
		// What a removal has taken along cannot be removed once more: what is read next decides.
		if a.Rejected && !dialect.IsRemoval(command, have) {
			rejected = &configure.RejectedError{Answer: a}
			break
		}
	}
	_, err = s.send(s.shell.leave)
	return answers, cmp.Or(err, rejected)
}

// Close implements configure.Session.
func (s *session) Close() {
	s.cancel()
	_ = s.cli.Close()
}
