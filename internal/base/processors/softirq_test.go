package processors

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

func TestPreferSoftInterrupts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: changing priorities needs root")
	}
	usable, err := Usable()
	if err != nil {
		t.Fatal(err)
	}
	processor := usable[len(usable)-1]
	thread, err := kernelThread(fmt.Sprintf("ksoftirqd/%d", processor))
	if errors.Is(err, ErrUnseen) {
		t.Skip("skipped: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A run that was killed on this machine leaves the thread preferred.
	if _, err := RestoreSoftInterrupts(NotesDir); err != nil {
		t.Fatal(err)
	}
	is := func(want int, when string) {
		t.Helper()
		if got, err := nice(thread); err != nil || got != want {
			t.Errorf("%s its nice value is %d, %v: want %d", when, got, err, want)
		}
	}
	before, err := nice(thread)
	if err != nil {
		t.Fatal(err)
	}
	undo, err := PreferSoftInterrupts(NotesDir, processor)
	if err != nil {
		t.Fatal(err)
	}
	is(mostPreferred, "preferred")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	is(before, "afterwards")
}

func TestNoThreadOfAProcessorThatIsNotThere(t *testing.T) {
	if _, err := PreferSoftInterrupts(t.TempDir(), 1<<20); !errors.Is(err, ErrUnseen) {
		t.Errorf("%v, want ErrUnseen", err)
	}
}
