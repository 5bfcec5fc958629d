package linux

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// errNoShell reports that something else than a shell answered.
var errNoShell = errors.New("the answer of the device does not begin as one of a shell: want a user whose shell runs commands")

// shell is a POSIX shell of the device, which answers one question after the other. A question is the name of a function. After an error the
// shell is of no use.
type shell struct {
	questions io.Writer
	answers   io.Reader
	// mark is the line before and after each answer. No device has seen it before.
	mark []byte
}

// startShell starts a shell and defines functions in it. It ends with the connection.
func startShell(client *ssh.Client, functions string) (*shell, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	s := &shell{mark: []byte(rand.Text() + "\n")}
	if s.questions, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if s.answers, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := session.Start("sh"); err != nil {
		return nil, err
	}
	// Programs have no input: they would read the questions that follow.
	_, err = fmt.Fprintf(s.questions, "%sask() {\necho %[2]s\"$1\" </dev/null 2>/dev/null\necho %[2]s}\n", functions, s.mark)
	return s, lost(err)
}

// ask returns the answer to a question. To end it, close the connection. It fails with commands.ErrTooLong or commands.ErrLost.
func (s *shell) ask(question string) (string, error) {
	if _, err := fmt.Fprintf(s.questions, "ask %s\n", question); err != nil {
		return "", lost(err)
	}
	var answer commands.Output
	chunk := make([]byte, 32<<10)
	for {
		n, err := s.answers.Read(chunk)
		if _, err := answer.Write(chunk[:n]); err != nil {
			return "", err
		}
		text := answer.Bytes()
		begun := min(len(text), len(s.mark))
		switch {
		case !bytes.Equal(text[:begun], s.mark[:begun]):
			return "", errNoShell
		case len(text) >= 2*len(s.mark) && bytes.HasSuffix(text, s.mark):
			return string(text[len(s.mark) : len(text)-len(s.mark)]), nil
		case err != nil:
			return "", lost(err)
		}
	}
}

// lost returns the error of a shell that has ended; nil for nil.
func lost(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", commands.ErrLost, err)
}
