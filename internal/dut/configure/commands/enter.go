package commands

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/configure"
)

var _ configure.Commander = (*Shell)(nil)

// maxComplaint bounds what a command of a reset says to its failure, in bytes.
const maxComplaint = 400

// Enter implements configure.Commander. The answer is the input of the last command.
func (s *Shell) Enter(commands []string, answer *string) error {
	for i, command := range commands {
		input, last := "", i == len(commands)-1
		if last && answer != nil {
			input = *answer + "\n"
		}
		sent, err := s.enter(command, input)
		if err != nil && (!last || !sent) {
			return err
		}
	}
	return nil
}

// enter runs a command of a reset. Sent reports whether the device began it, and err is then that the connection was lost, or
// that the shutting down device ended it by a signal.
func (s *Shell) enter(command, input string) (sent bool, _ error) {
	var tooLate atomic.Bool
	late := time.AfterFunc(configure.CommandWithin, func() {
		tooLate.Store(true)
		_ = s.connection.Close()
	})
	defer late.Stop()
	out, problems, err := s.connection.Run(command, input)
	var ended *ExitError
	switch {
	case err == nil:
		return true, nil
	case tooLate.Load():
		return false, fmt.Errorf("%q did not end within %s: have it end earlier, or give answer if it asks a question", command, configure.CommandWithin)
	case errors.As(err, &ended) && ended.Signal == "":
		return false, &Error{command, ended.Status, human.Cut(strings.TrimSpace(problems+out), maxComplaint)}
	case errors.As(err, &ended), errors.Is(err, ErrLost):
		return true, fmt.Errorf("%w: running %q: %w", configure.ErrUnreachable, command, err)
	}
	return false, fmt.Errorf("%w: running %q: %w", configure.ErrUnreachable, command, err)
}
