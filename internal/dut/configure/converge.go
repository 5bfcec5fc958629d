package configure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Record describes how a device got a configuration.
type Record struct {
	// Before and After are the configurations that the device reported first and last.
	Before Configuration `json:"-"`
	After  Configuration `json:"-"`
	// BeforeDigest and AfterDigest identify them: SHA-256 of the text, without what configures nothing.
	BeforeDigest string `json:"beforeDigest"`
	AfterDigest  string `json:"afterDigest"`
	// Software of the device, as it reports it; empty if it does not.
	Software string `json:"software,omitempty"`
	// Answers are the commands that were entered, and what the device said.
	Answers []Answer `json:"answers,omitempty"`
	// Sessions is the number of sessions that it took, and Lost the number of broken ones.
	Sessions int `json:"sessions"`
	Lost     int `json:"lost,omitempty"`
	// RolledBack reports whether the device has the configuration from before.
	RolledBack bool          `json:"rolledBack,omitempty"`
	Took       time.Duration `json:"tookNanoseconds"`
}

// Digest identifies a configuration.
func Digest(c Configuration) string {
	sum := sha256.Sum256([]byte(c))
	return "sha256:" + hex.EncodeToString(sum[:])
}

const (
	// maxRounds is the number of changes until the device reports what is wanted: removing a line may remove
	// others.
	maxRounds = 4
	// firstPause and longestPause bound the pause before the next attempt to reach a device.
	firstPause   = 200 * time.Millisecond
	longestPause = 10 * time.Second
)

// Read returns the configuration that a device reports, in one attempt.
func Read(ctx context.Context, d Driver) (Configuration, error) {
	s, err := d.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	return s.Running()
}

// Apply gives a device a configuration. While the device cannot be reached it tries again until the
// context ends. If the device rejects a command, or reports something else at the end, or the context ends
// after a command was sent, Apply restores what was before, and tries that for as long as restoring. It fails with
// a RejectedError, a DifferentError or the cause of the context, and with a NotRestoredError if the device does
// not have what it had before. With restoring 0 it leaves the device as it is. Apply with the former configuration
// restores it at any later time.
func Apply(ctx context.Context, d Driver, want Configuration, restoring time.Duration) (*Record, error) {
	a := &attempt{driver: d, record: &Record{}}
	began := time.Now()
	err := a.converge(ctx, want)
	if err != nil && a.entered && restoring > 0 {
		back, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), restoring, fmt.Errorf("%s are over", restoring))
		defer cancel()
		if failed := a.converge(back, a.record.Before); failed != nil {
			err = &NotRestoredError{d.Language().Differences(a.record.Before, a.record.After), err, failed}
		} else {
			a.record.RolledBack = true
		}
	}
	a.record.Took = time.Since(began)
	a.record.BeforeDigest, a.record.AfterDigest = Digest(a.record.Before), Digest(a.record.After)
	return a.record, err
}

// attempt is one call of Apply.
type attempt struct {
	driver Driver
	record *Record
	// known reports whether the device has reported its configuration, and entered whether a command
	// was sent since.
	known, entered bool
}

// converge opens sessions until the device reports what is wanted.
func (a *attempt) converge(ctx context.Context, want Configuration) error {
	pause := firstPause
	for {
		err := a.session(ctx, want)
		switch {
		case !errors.Is(err, ErrUnreachable):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// session enters what is missing, and reads it back.
func (a *attempt) session(ctx context.Context, want Configuration) (err error) {
	s, err := a.driver.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	a.record.Sessions++
	defer func() {
		if errors.Is(err, ErrUnreachable) {
			a.record.Lost++
		}
	}()
	language := a.driver.Language()
	if a.record.Software == "" {
		if a.record.Software, err = s.Software(); err != nil {
			return err
		}
	}
	for range maxRounds {
		have, err := s.Running()
		if err != nil {
			return err
		}
		a.see(have)
		if len(language.Differences(want, have)) == 0 {
			return nil
		}
		a.entered = true
		answers, err := s.Change(have, want)
		a.record.Answers = append(a.record.Answers, answers...)
		if err != nil {
			return err
		}
	}
	have, err := s.Running()
	if err != nil {
		return err
	}
	a.see(have)
	if left := language.Differences(want, have); len(left) > 0 {
		return &DifferentError{left}
	}
	return nil
}

// see keeps what the device reports.
func (a *attempt) see(have Configuration) {
	if !a.known {
		a.known, a.record.Before = true, have
	}
	a.record.After = have
}
