package configure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure/text"
)

// fakeDevice is a device with lines without contexts. It rejects lines with the word "bad".
type fakeDevice struct {
	lines []string
	// gone reports whether connections are refused: a rejection sets it if leaves does.
	gone, leaves bool
	// after is called after each command that was carried out; it may be nil.
	after func(line string) error
}

func (f *fakeDevice) Dialect() *text.Dialect { return &text.Dialect{Exit: "exit"} }

func (f *fakeDevice) Connect(context.Context) (Session, error) {
	if f.gone {
		return nil, ErrUnreachable
	}
	return f, nil
}

func (f *fakeDevice) Running() (text.Tree, error) {
	return f.Dialect().Parse(strings.Join(f.lines, "\n")), nil
}

func (f *fakeDevice) Software() (string, error) { return "fake 1", nil }

func (f *fakeDevice) Enter(commands []string, stop func(Answer) bool) (answers []Answer, err error) {
	for _, c := range commands {
		a := Answer{Command: c, Rejected: strings.Contains(c, "bad")}
		answers = append(answers, a)
		if stop(a) {
			f.gone = f.leaves
			break
		}
		if line, is := strings.CutPrefix(c, "no "); is {
			f.lines = slices.DeleteFunc(f.lines, func(l string) bool { return l == line })
		} else {
			f.lines = append(f.lines, c)
		}
		if f.after != nil {
			if err := f.after(c); err != nil {
				return answers, err
			}
		}
	}
	return answers, nil
}

func (f *fakeDevice) Close() {}

// TestInterrupted ends the context once the device has a part of the change: it gets back what it had.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	f := &fakeDevice{lines: []string{"a"}, after: func(line string) error {
		if line != "b" {
			return nil
		}
		interrupt(cause)
		return ErrUnreachable
	}}
	record, err := Apply(ctx, f, text.Tree{{Line: "b"}, {Line: "c"}}, time.Minute)
	if !errors.Is(err, cause) || !record.RolledBack || record.Software != "fake 1" || !slices.Equal(f.lines, []string{"a"}) {
		t.Errorf("%v, rolled back: %v, the device has %q", err, record.RolledBack, f.lines)
	}
}

// TestNotRestored has a device reject a line, and be gone after that: the error names what is left of the change.
func TestNotRestored(t *testing.T) {
	t.Parallel()
	f := &fakeDevice{lines: []string{"a", "b"}, leaves: true}
	record, err := Apply(t.Context(), f, text.Tree{{Line: "b"}, {Line: "c"}, {Line: "bad"}}, time.Second)
	var left *NotRestoredError
	var rejected *RejectedError
	if !errors.As(err, &left) || !errors.As(err, &rejected) || !errors.Is(err, ErrUnreachable) || record.RolledBack {
		t.Fatalf("%v, rolled back: %v, want that it was not", err, record.RolledBack)
	}
	f.gone = false
	if _, err := Apply(t.Context(), f, record.Before, time.Second); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(f.lines); !slices.Equal(f.lines, []string{"a", "b"}) {
		t.Errorf("the device has %q, want what it had before", f.lines)
	}
}
