package configure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeDevice is a device with lines without contexts, in no order. It rejects lines with the word "bad".
type fakeDevice struct {
	lines []string
	// gone reports whether connections are refused: a rejection sets it if leaves does.
	gone, leaves bool
	// after is called after each line that was added or removed; it may be nil.
	after func(line string) error
}

func (f *fakeDevice) Language() Language { return fakeLanguage{} }

func (f *fakeDevice) Connect(context.Context) (Session, error) {
	if f.gone {
		return nil, ErrUnreachable
	}
	return f, nil
}

func (f *fakeDevice) Running() (Configuration, error) {
	return Configuration(strings.Join(f.lines, "\n")), nil
}

func (f *fakeDevice) Software() (string, error) { return "fake 1", nil }

func (f *fakeDevice) Change(have, want Configuration) (answers []Answer, err error) {
	for _, c := range f.Language().Commands(have, want) {
		a := Answer{Command: c, Rejected: strings.Contains(c, "bad")}
		answers = append(answers, a)
		if a.Rejected {
			f.gone = f.leaves
			return answers, &RejectedError{a}
		}
		if line, is := strings.CutPrefix(c, "- "); is {
			f.lines = slices.DeleteFunc(f.lines, func(l string) bool { return l == line })
		} else {
			f.lines = append(f.lines, c[2:])
		}
		if f.after != nil {
			if err := f.after(c[2:]); err != nil {
				return answers, err
			}
		}
	}
	return answers, nil
}

// fakeLanguage is the language of a fakeDevice, whose commands are the differences.
type fakeLanguage struct{}

func (fakeLanguage) Parse(text string) (Configuration, error) { return Configuration(text), nil }

func (l fakeLanguage) Commands(have, want Configuration) []string { return l.Differences(have, want) }

func (fakeLanguage) Differences(from, to Configuration) (lines []string) {
	before, after := strings.Fields(string(from)), strings.Fields(string(to))
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

func (fakeLanguage) Mask(text string) string { return text }

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
	record, err := Apply(ctx, f, "b\nc", time.Minute)
	if !errors.Is(err, cause) || !record.RolledBack || record.Software != "fake 1" || !slices.Equal(f.lines, []string{"a"}) {
		t.Errorf("%v, rolled back: %v, the device has %q", err, record.RolledBack, f.lines)
	}
}

// TestNotRestored has a device reject a line, and be gone after that: the error names what is left of the change.
func TestNotRestored(t *testing.T) {
	t.Parallel()
	f := &fakeDevice{lines: []string{"a", "b"}, leaves: true}
	record, err := Apply(t.Context(), f, "b\nc\nbad", time.Second)
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
