package sshcli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// transaction describes how a device carries out many lines at once, and takes them back by itself unless that is confirmed.
type transaction struct {
	// left prints changes of sessions, and pending matches one of NoDrop there that has no end: a candidate, or a commit without its
	// confirmation. A session of its own takes it back by resume and then revert.
	left    string
	pending *regexp.Regexp
	resume  []string
	// revert goes back to the configuration before the commit. check then prints the same as left, and finish makes that configuration
	// effective. If the change has ended meanwhile, abort ends the session. check is empty where revert cannot meet another end of the change.
	revert []string
	check  string
	finish []string
	// prepare are commands before each change that the device may reject.
	prepare []string
	// candidate prints the configuration that the commit would make, and compare how it differs in the words of the device.
	candidate, compare string
	// commit makes the candidate effective for some minutes, and confirm for good. Between both, running prints the
	// configuration.
	commit, running, confirm string
	// abort ends a change before its commit, and done after its confirmation.
	abort, done []string
}

// maxDepth is the number of times that a candidate is completed: removing the last line of a context may leave the context, which is
// then removed, and so on.
const maxDepth = 16

// takeBack ends what an earlier session has left: a configuration that waits for its confirmation would not last.
func (s *session) takeBack() error {
	t := s.shell.transaction
	if t == nil {
		return nil
	}
	waits := func() (bool, error) {
		out, err := s.send(t.left)
		return t.pending.MatchString(out), err
	}
	if is, err := waits(); err != nil || !is {
		return err
	}
	if err := s.enter(t.resume...); err != nil {
		return err
	}
	if err := s.revert(); err != nil {
		return err
	}
	is, err := waits()
	if err == nil && is {
		err = fmt.Errorf("%w: an earlier change waits for its confirmation, and the device does not take it back: see %q", configure.ErrUnreachable, t.left)
	}
	return err
}

// revert takes a commit back that was not confirmed. The device may do so itself at any moment. What the device would go back to is then another
// configuration: the one that was taken back.
func (s *session) revert() error {
	t := s.shell.transaction
	if err := s.enter(t.revert...); err != nil || t.check == "" {
		return err
	}
	out, err := s.send(t.check)
	switch {
	case err != nil:
		return err
	case t.pending.MatchString(out):
		return s.enter(t.finish...)
	}
	return s.enter(t.abort...)
}

// transact makes a change of all lines. It is confirmed when the device reports what is wanted, and taken back otherwise.
func (s *session) transact(have, want configure.Configuration) (answers []configure.Answer, err error) {
	t := s.shell.transaction
	end := func() error { return s.enter(t.abort...) }
	defer func() {
		if errors.Is(err, configure.ErrUnreachable) {
			return // The next session takes it back.
		}
		if failed := end(); failed != nil {
			err = failed
		}
	}()
	if answers, err = s.fill(have, want); err != nil {
		return answers, err
	}
	for _, command := range []string{t.compare, t.commit} {
		a, err := s.answer(command)
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
		if a.Rejected {
			return answers, &configure.RejectedError{Answer: a}
		}
	}
	end = s.revert
	now, err := s.read(t.running)
	if err != nil {
		return answers, err
	}
	if left := s.shell.Dialect.Differences(want, now); len(left) > 0 {
		return answers, &configure.DifferentError{Differences: left}
	}
	a, err := s.answer(t.confirm)
	if err != nil {
		return answers, err
	}
	end, answers = func() error { return s.enter(t.done...) }, append(answers, a)
	if a.Rejected { // The device may have taken the change back meanwhile: what is read next decides.
		return answers, fmt.Errorf("%w: the device rejected %q: %s", configure.ErrUnreachable, a.Command, a.Text)
	}
	return answers, nil
}

// fill enters lines until the candidate has what is wanted. It fails with a DifferentError if they do not change it any more.
func (s *session) fill(have, want configure.Configuration) (answers []configure.Answer, _ error) {
	dialect := s.shell.Dialect
	missing := dialect.Differences(want, have)
	for range maxDepth {
		some, err := s.lines(have, want)
		answers = append(answers, some...)
		if err != nil {
			return answers, err
		}
		if have, err = s.read(s.shell.transaction.candidate); err != nil {
			return answers, err
		}
		before := missing
		if missing = dialect.Differences(want, have); len(missing) == 0 {
			return answers, nil
		}
		if slices.Equal(missing, before) {
			break
		}
	}
	return answers, &configure.DifferentError{Differences: missing}
}
