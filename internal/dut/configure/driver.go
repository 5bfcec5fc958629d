package configure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Configuration is a whole configuration of a device, in the words of the device and without what configures
// nothing: what the device has beyond it is not wanted.
type Configuration string

// Language describes how a kind of device writes configurations.
type Language interface {
	// Parse reads a configuration. It fails for a text that is none.
	Parse(text string) (Configuration, error)
	// Commands returns what a person would enter to bring a device from one configuration to another; none if
	// both are the same.
	Commands(have, want Configuration) []string
	// Differences describes what a configuration lacks ("- ") and has beyond another ("+ "), a line for each,
	// without secrets; none if both are the same.
	Differences(from, to Configuration) []string
	// Mask hides the secrets in a line or an answer.
	Mask(text string) string
}

// ReadBoth reads two configurations.
func ReadBoth[T any](have, want Configuration, read func(text string) (T, error)) (from, to T, err error) {
	if from, err = read(string(have)); err == nil {
		to, err = read(string(want))
	}
	return from, to, err
}

// DifferencesBetween reads two configurations, and returns how they differ. A configuration that cannot be read is a difference of its own.
func DifferencesBetween[T any](from, to Configuration, read func(text string) (T, error), differences func(from, to T) []string) []string {
	before, err := read(string(from))
	if err != nil {
		return []string{"- " + err.Error()}
	}
	after, err := read(string(to))
	if err != nil {
		return []string{"+ " + err.Error()}
	}
	return differences(before, after)
}

// Completer is a Language whose configurations have lines that every device reports.
type Completer interface {
	// Complete fails for a configuration without such a line: the device would report another configuration.
	Complete(Configuration) error
}

// Whole reads what a device shall have. It fails for a text that is no configuration, for one that
// configures nothing, which would remove all that the device has, and for one without a line that every device reports.
func Whole(l Language, text string) (Configuration, error) {
	c, err := l.Parse(text)
	if completer, is := l.(Completer); is && err == nil && c != "" {
		err = completer.Complete(c)
	}
	if err == nil && c == "" {
		err = errors.New("it configures nothing, and all of the device's configuration would be removed: give a whole configuration, such as the output of nodrop configure read with changes")
	}
	return c, err
}

// WholeFile reads what a device shall have from a file, and fails as Whole does, with the name of the file.
func WholeFile(l Language, file string) (Configuration, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	c, err := Whole(l, string(content))
	if err != nil {
		return "", fmt.Errorf("%s: Invalid value: %w", file, err)
	}
	return c, nil
}

// Driver connects to one device.
type Driver interface {
	// Connect opens a session, which ends with the context at the latest. It fails with ErrUnreachable if
	// another attempt may succeed, and with ErrRefused if only a person can help.
	Connect(ctx context.Context) (Session, error)
	// Language of the device's configurations.
	Language() Language
}

// Session is a connection to a device, which ends with the context of Connect. Its methods fail with
// ErrUnreachable when it is lost: then it is unknown what the device has done.
type Session interface {
	// Running returns the configuration that the device reports.
	Running() (Configuration, error)
	// Software returns name and version of the device's software, as the device reports it; empty if it does not.
	Software() (string, error)
	// Change brings the device from what it has to what is wanted, as far as it can, and returns its
	// answers without secrets, the last of which may be missing when the connection is lost. It fails with a
	// RejectedError. A device without transactions then has a part of the change.
	Change(have, want Configuration) ([]Answer, error)
	// Close ends the session.
	Close()
}

// Answer of a device to a command.
type Answer struct {
	Command string `json:"command"`
	// Text of the device; empty for most commands.
	Text string `json:"text,omitempty"`
	// Rejected reports whether the device did not carry the command out.
	Rejected bool          `json:"rejected,omitempty"`
	Took     time.Duration `json:"tookNanoseconds"`
}

var (
	// ErrUnreachable is wrapped by errors of a device that cannot be reached, or no longer.
	ErrUnreachable = errors.New("the device cannot be reached")
	// ErrRefused is wrapped by errors that another attempt does not change: a wrong password, an unknown
	// host key, a device that is not of the expected kind.
	ErrRefused = errors.New("no session with the device")
)

// RejectedError is a command that the device did not accept.
type RejectedError struct{ Answer }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the device rejected %q: %s", e.Command, e.Text)
}

// DifferentError reports that a device accepted every command, and reports another configuration.
type DifferentError struct {
	// Differences from what is wanted to what the device reports.
	Differences []string
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("the device accepted every command, and reports another configuration: %s", listed(e.Differences))
}

// NotRestoredError reports that a device has neither the configuration that was wanted nor the one that it
// had before.
type NotRestoredError struct {
	// Differences from what the device had to what it last reported; nil if that is unknown.
	Differences []string
	// Err is why the device was not configured, and Restoring why it was not restored.
	Err, Restoring error
}

func (e *NotRestoredError) Error() string {
	return fmt.Sprintf("%v; the configuration from before could not be restored (%v): %s", e.Err, e.Restoring, listed(e.Differences))
}

func (e *NotRestoredError) Unwrap() []error { return []error{e.Err, e.Restoring} }

// shown is the number of differences in a message.
const shown = 8

func listed(differences []string) string {
	switch n := len(differences); {
	case n == 0:
		return "the differences are not known"
	case n > shown:
		return fmt.Sprintf("%q, and %d more", differences[:shown], n-shown)
	}
	return fmt.Sprintf("%q", differences)
}
