package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Access is a way to run commands on one device.
type Access interface {
	// Check fails for settings that cannot connect, with the name of the field. It does not connect.
	Check() error
	// Open connects to the device. The connection ends with the context. Open fails with configure.ErrUnreachable or
	// configure.ErrRefused.
	Open(ctx context.Context) (Connection, error)
	// AnswerWithin returns how long the device may take to answer.
	AnswerWithin() time.Duration
	// Describe names the device in messages.
	Describe() string
}

// Connection leads to a device. It may run one command after another.
type Connection interface {
	// Run runs a command with an input, without a terminal, and returns what it printed. It fails with an ExitError if the
	// command did, and with ErrTooLong or ErrLost. To end it, close the connection.
	Run(command, input string) (out, problems string, _ error)
	// Console starts a command line. Over SSH it is the one of the user; elsewhere the program is run. Its end is an error of Read, which wraps
	// configure.ErrRefused if there is no such program.
	Console(program string) (io.ReadWriter, error)
	// Close ends the connection, and what runs on it.
	Close() error
}

// ExitError is the end of a command that failed.
type ExitError struct {
	Status int
	// Signal that ended the command; empty if it ended by itself.
	Signal string
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "it was ended by signal " + e.Signal
	}
	return fmt.Sprintf("it ended with status %d", e.Status)
}

// maxOutput is the most that a command may print, in bytes: a rule set of 100,000 rules has less.
const maxOutput = 16 << 20

var (
	// ErrTooLong reports that a command printed more than is read.
	ErrTooLong = fmt.Errorf("it printed more than %d MiB", maxOutput>>20)
	// ErrLost reports that the connection was lost after the device had begun to run a command.
	ErrLost = errors.New("the connection was lost while the command ran")
)

// Output contains the text that a command prints, up to a limit. It has no ReadFrom, by which io.Copy would pass the limit.
type Output struct {
	text bytes.Buffer
	// Over reports whether it was more.
	Over bool
}

// Write implements io.Writer. It fails with ErrTooLong.
func (o *Output) Write(p []byte) (int, error) {
	if o.text.Len()+len(p) > maxOutput {
		o.Over = true
		return 0, ErrTooLong
	}
	return o.text.Write(p)
}

// Bytes returns the text, which is valid until the next Write.
func (o *Output) Bytes() []byte { return o.text.Bytes() }

// String returns the text.
func (o *Output) String() string { return o.text.String() }

// driver configures one device.
type driver struct {
	access   Access
	language configure.Language
	open     func(context.Context, Access) (configure.Session, error)
}

// NewDriver returns a driver whose sessions open starts, with the access. It does not connect yet, and fails for settings that
// cannot connect.
func NewDriver(access Access, language configure.Language, open func(context.Context, Access) (configure.Session, error)) (configure.Driver, error) {
	if err := access.Check(); err != nil {
		return nil, err
	}
	return &driver{access, language, open}, nil
}

// Language implements configure.Driver.
func (d *driver) Language() configure.Language { return d.language }

// Connect implements configure.Driver.
func (d *driver) Connect(ctx context.Context) (configure.Session, error) {
	return d.open(ctx, d.access)
}
