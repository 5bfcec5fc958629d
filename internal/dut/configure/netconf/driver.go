package netconf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
)

const (
	// token names the change that waits for its confirmation, so that another session can take it back.
	token = "nodrop"
	// confirmWithin is the time after which a device takes back a change that is not confirmed, in seconds.
	confirmWithin = 120
)

// New returns a driver. It does not connect yet.
func New(access sshaccess.Config) (configure.Driver, error) {
	return commands.NewDriver(access, Language{}, func(ctx context.Context, _ commands.Access) (configure.Session, error) { return begin(ctx, &access) })
}

// begin starts a session. A change that an earlier session has not confirmed is taken back: what the device reports would not
// last.
func begin(ctx context.Context, access *sshaccess.Config) (configure.Session, error) {
	c, err := open(ctx, access)
	if err != nil {
		return nil, err
	}
	s := &session{c}
	if err := s.cancel(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

type session struct{ *client }

var _ configure.Session = (*session)(nil)

// cancel takes back a change that waits for its confirmation. That there is none is no error.
func (s *session) cancel() error {
	if !s.has(confirmedCommit) {
		return nil
	}
	_, err := s.request("<cancel-commit><persist-id>" + token + "</persist-id></cancel-commit>")
	var refused *rpcError
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// Running implements configure.Session.
func (s *session) Running() (configure.Configuration, error) {
	r, err := s.request("<get-config><source><running/></source></get-config>")
	var refused *rpcError
	if errors.As(err, &refused) {
		return "", fmt.Errorf("%w: reading the configuration: %w", configure.ErrRefused, err)
	}
	if err != nil {
		return "", err
	}
	return Language{}.Parse(r.Data.XML)
}

// Software implements configure.Session. NETCONF has no request for it that all devices know.
func (s *session) Software() (string, error) { return "", nil }

// Change implements configure.Session. It is one transaction. A device that can takes it back unless it is confirmed, which
// happens when the device reports what is wanted.
func (s *session) Change(have, want configure.Configuration) (answers []configure.Answer, err error) {
	edit, err := edit(have, want)
	if err != nil {
		return nil, err
	}
	if _, err := s.request("<lock><target><candidate/></target></lock>"); err != nil {
		var refused *rpcError
		if errors.As(err, &refused) {
			return nil, fmt.Errorf("%w: the candidate is in use: %w", configure.ErrUnreachable, err)
		}
		return nil, err
	}
	defer func() { // The end of the session gives up the lock as well.
		if !errors.Is(err, configure.ErrUnreachable) {
			_, _ = s.request("<discard-changes/>")
			_, _ = s.request("<unlock><target><candidate/></target></unlock>")
		}
	}()
	confirmed := s.has(confirmedCommit)
	commit := "<commit/>"
	if confirmed {
		commit = fmt.Sprintf("<commit><confirmed/><confirm-timeout>%d</confirm-timeout><persist>%s</persist></commit>", confirmWithin, token)
	}
	for _, step := range []struct{ name, operation string }{
		{"discard-changes", "<discard-changes/>"},
		{"edit-config", "<edit-config><target><candidate/></target><default-operation>merge</default-operation><config>" + edit + "</config></edit-config>"},
		{"commit", commit}, // It validates.
	} {
		began := time.Now()
		_, err := s.request(step.operation)
		a := configure.Answer{Command: step.name, Took: time.Since(began)}
		var refused *rpcError
		if errors.As(err, &refused) {
			a.Rejected, a.Text = true, Language{}.Mask(refused.Error())
			return append(answers, a), &configure.RejectedError{Answer: a}
		}
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
	if !confirmed {
		return answers, nil
	}
	return answers, s.confirm(want)
}

// confirm makes a change last if the device reports what is wanted, and takes it back otherwise.
func (s *session) confirm(want configure.Configuration) error {
	now, err := s.Running()
	if err != nil {
		return err
	}
	if left := (Language{}).Differences(want, now); len(left) > 0 {
		if err := s.cancel(); err != nil {
			return err
		}
		return &configure.DifferentError{Differences: left}
	}
	_, err = s.request("<commit><persist-id>" + token + "</persist-id></commit>")
	var refused *rpcError
	if errors.As(err, &refused) { // It may have been taken back meanwhile: what is read next decides.
		return fmt.Errorf("%w: confirming the change: %w", configure.ErrUnreachable, err)
	}
	return err
}

// Close implements configure.Session.
func (s *session) Close() { s.close() }
