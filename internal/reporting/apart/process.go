package apart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	// Command is the command of nodrop that does one task, which it reads from its standard input.
	Command = "large-result"
	// Memory is the memory that a process has, in bytes. The garbage collector keeps it below
	// softMemory if it can.
	Memory     = 512 << 20
	softMemory = 384 << 20
	// maxFailure bounds what is read of the text of a failure, in bytes.
	maxFailure = 64 << 10
)

// Process does each task in a process of its own, one at a time.
type Process struct {
	program []string
	// place is taken while a process runs.
	place chan struct{}
}

// NewProcess returns a worker that runs a program with its first arguments, which calls Main.
func NewProcess(program ...string) *Process {
	return &Process{program: program, place: make(chan struct{}, 1)}
}

// Program is this program with the command that calls Main.
func Program() ([]string, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return []string{program, Command}, nil
}

// Do does a task.
func (p *Process) Do(ctx context.Context, t Task, out io.Writer) error {
	select {
	case p.place <- struct{}{}:
		defer func() { <-p.place }()
	case <-ctx.Done():
		return ctx.Err()
	}
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encoding a task: %w", err)
	}
	said := &beginning{limit: maxFailure}
	cmd := exec.CommandContext(ctx, p.program[0], p.program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), out, said
	cmd.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.Itoa(softMemory), "GOGC=50")
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var f Failure
	if json.Unmarshal(said.text.Bytes(), &f) == nil && f.Cause != "" {
		return &f
	}
	first, _, _ := strings.Cut(said.text.String(), "\n")
	return &Failure{CauseEnded, fmt.Sprintf("the process that read it, with %d MiB of memory, ended: %v: %.200s", Memory>>20, err, first)}
}

// Main is the whole of the process: it does the task that it reads, and writes a failure as JSON.
// It reports whether the task was done.
func Main(ctx context.Context, worker Worker, in io.Reader, out, failure io.Writer) bool {
	var t Task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		_ = json.NewEncoder(failure).Encode(Failure{CauseUnreadable, "the task cannot be read: " + err.Error()})
		return false
	}
	if err := worker.Do(ctx, t, out); err != nil {
		_ = json.NewEncoder(failure).Encode(failed(CauseUnreadable, err))
		return false
	}
	return true
}

// beginning keeps the beginning of a text.
type beginning struct {
	text  bytes.Buffer
	limit int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.text.Write(p[:min(len(p), b.limit-b.text.Len())])
	return len(p), nil
}
