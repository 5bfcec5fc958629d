package configure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// CommandWithin is how long a command of a reset may take.
const CommandWithin = 60 * time.Second

// RestoreWithin is how long a device may take until it has its configuration again, after a reset or a run.
const RestoreWithin = 5 * time.Minute

// ResetWithin is how long a reset may take: its commands, and what comes before them.
const ResetWithin = 10 * time.Minute

// Restore gives a device its configuration again, and reports whether it had another one. While the device cannot be reached it tries
// again.
func Restore(ctx context.Context, d Driver, want Configuration) (restored bool, _ error) {
	ctx, cancel := context.WithTimeoutCause(ctx, RestoreWithin, fmt.Errorf("%s are over", RestoreWithin))
	defer cancel()
	record, err := Apply(ctx, d, want, 0)
	return err == nil && len(record.Answers) > 0, err
}

// Commander is a session in which the commands of a reset are entered.
type Commander interface {
	// Enter enters commands, one after the other, and returns when the last one has ended, or the connection after it was sent: a
	// device that reloads ends its connections. Answer is the line that the last command reads; nil if it reads none. Enter fails with
	// ErrUnreachable if it is unknown whether the device began the last command.
	Enter(commands []string, answer *string) error
}

// Resets are the ways to reset a device by commands, which the owner of the lab describes.
type Resets struct {
	driver    Driver
	described []v1alpha1.DeviceReset
}

// NewResets returns the described resets of a device.
func NewResets(d Driver, described []v1alpha1.DeviceReset) *Resets { return &Resets{d, described} }

// Reset performs a reset by its name, and returns when the device has begun it.
func (r *Resets) Reset(ctx context.Context, name string) error {
	i := slices.IndexFunc(r.described, func(d v1alpha1.DeviceReset) bool { return d.Name == name })
	if i < 0 {
		return fmt.Errorf("name: Unsupported value: %q: the bed describes %s", name, strings.Join(names(r.described), ", "))
	}
	if err := enter(ctx, r.driver, &r.described[i]); err != nil {
		return fmt.Errorf("reset %s of the device: %w", name, err)
	}
	return nil
}

func names(described []v1alpha1.DeviceReset) (names []string) {
	for _, d := range described {
		names = append(names, d.Name)
	}
	return names
}

// enter enters the commands of a reset in a session of their own.
func enter(ctx context.Context, d Driver, r *v1alpha1.DeviceReset) error {
	ctx, cancel := context.WithTimeoutCause(ctx, ResetWithin, fmt.Errorf("%s are over", ResetWithin))
	defer cancel()
	s, err := d.Connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	c, can := s.(Commander)
	if !can {
		return errors.New("sessions of this platform run no commands: remove resets from its management")
	}
	err = c.Enter(r.Commands, r.Answer)
	if cause := context.Cause(ctx); cause != nil {
		return cause // The session ended with the context, and not by the command.
	}
	return err
}
