package sshcli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scrapli/scrapligo/driver/generic"
	"github.com/scrapli/scrapligo/driver/options"
	"github.com/scrapli/scrapligo/util"
	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// Driver configures one device.
type Driver struct {
	config Config
	client *ssh.ClientConfig
}

var _ configure.Driver = (*Driver)(nil)

// New returns a driver. It does not connect yet.
func New(c Config) (*Driver, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	return &Driver{c, client}, nil
}

// Dialect implements configure.Driver.
func (d *Driver) Dialect() *text.Dialect { return d.config.Platform.dialect }

// Connect implements configure.Driver.
func (d *Driver) Connect(ctx context.Context) (configure.Session, error) {
	ctx, cancel := context.WithCancel(ctx)
	cli, err := generic.NewDriver(d.config.Address,
		options.WithCustomTransport(&line{ctx: ctx, address: d.config.Address, dial: d.config.Dial, config: d.client}),
		options.WithPromptPattern(d.config.Platform.prompt),
		options.WithTimeoutOps(d.config.timeout()),
	)
	if err == nil {
		err = cli.Open()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	s := &session{cli: cli, cancel: cancel, config: &d.config}
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
	config *Config
}

var _ configure.Session = (*session)(nil)

// begin waits for the prompt, and prepares the terminal.
func (s *session) begin() error {
	if _, err := s.cli.GetPrompt(); err != nil {
		if errors.Is(err, util.ErrTimeoutError) {
			return fmt.Errorf("%w: the device shows no prompt of %s within %s", configure.ErrRefused, s.config.Platform.Name, s.config.timeout())
		}
		return lost(err)
	}
	for _, command := range s.config.Platform.setup {
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
		return "", fmt.Errorf("entering %q: %w", command, lost(err))
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
func (s *session) Running() (text.Tree, error) {
	out, err := s.send(s.config.Platform.show)
	if err != nil {
		return nil, err
	}
	if s.config.Platform.rejected.MatchString(firstLine(out)) {
		return nil, fmt.Errorf("%w: the device rejected %q: %s", configure.ErrRefused, s.config.Platform.show, out)
	}
	return s.config.Platform.dialect.Parse(out), nil
}

// Software implements configure.Session.
func (s *session) Software() (string, error) {
	out, err := s.send(s.config.Platform.version)
	return s.config.Platform.software.FindString(out), err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Enter implements configure.Session.
func (s *session) Enter(commands []string, stop func(configure.Answer) bool) (answers []configure.Answer, err error) {
	p := s.config.Platform
	if out, err := s.send(p.enter); err != nil {
		return nil, err
	} else if p.rejected.MatchString(out) {
		return nil, fmt.Errorf("%w: the device rejected %q: %s", configure.ErrRefused, p.enter, out)
	}
	for _, command := range commands {
		began := time.Now()
		out, err := s.send(command)
		if err != nil {
			return answers, err
		}
		a := configure.Answer{Command: command, Text: out, Rejected: p.rejected.MatchString(out), Took: time.Since(began)}
		answers = append(answers, a)
		if stop(a) {
			break
		}
	}
	_, err = s.send(p.leave)
	return answers, err
}

// Close implements configure.Session.
func (s *session) Close() {
	s.cancel()
	_ = s.cli.Close()
}
