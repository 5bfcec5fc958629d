package processors

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Variables of a process of this test: the directory of its notes, and the thread that it prefers
// until it is killed.
const (
	notesOf  = "NODROP_TEST_NOTES"
	threadOf = "NODROP_TEST_THREAD"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(notesOf); dir != "" {
		thread, err := strconv.Atoi(os.Getenv(threadOf))
		if err == nil {
			_, err = prefer(dir, preferredName, thread)
		}
		fmt.Println("preferred:", err)
		select {}
	}
	os.Exit(m.Run())
}

const preferredName = "thread/0"

// lab is a thread, which is a process of its own here, and the directory of notes about it.
type lab struct {
	*testing.T
	dir    string
	thread int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: changing priorities needs root")
	}
	thread := exec.Command("sleep", "infinity")
	if err := thread.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(thread) })
	l := &lab{t, filepath.Join(t.TempDir(), "run", "softirq"), thread.Process.Pid}
	if err := setNice(preferredName, l.thread, 3); err != nil {
		t.Fatal(err)
	}
	return l
}

// kill ends a process, unless it has ended.
func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// run starts a process that prefers the thread, and returns when it does.
func (l *lab) run() *exec.Cmd {
	l.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), notesOf+"="+l.dir, threadOf+"="+strconv.Itoa(l.thread))
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { kill(cmd) })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "preferred: <nil>\n" {
		l.Fatalf("%q, %v", line, err)
	}
	l.is(mostPreferred, "preferred")
	return cmd
}

func (l *lab) is(want int, when string) {
	l.Helper()
	if got, err := nice(l.thread); err != nil || got != want {
		l.Errorf("%s the nice value is %d, %v: want %d", when, got, err, want)
	}
}

// notes fails if there is another number of notes.
func (l *lab) notes(want int) {
	l.Helper()
	files, err := os.ReadDir(l.dir)
	if err != nil || len(files) != want {
		l.Errorf("notes %v, %v: want %d", files, err, want)
	}
}

// restore restores threads whose users were killed, and fails if that are not as many as wanted.
func (l *lab) restore(want int) {
	l.Helper()
	restored, err := restore(l.dir, func(name string) (int, error) {
		if name != preferredName {
			return 0, fmt.Errorf("asked for %q", name)
		}
		return l.thread, nil
	})
	if err != nil || len(restored) != want {
		l.Errorf("restored %q, %v: want %d", restored, err, want)
	}
}

// A killed process leaves the thread preferred until its priority is restored.
func TestPriorityIsRestoredAfterAKill(t *testing.T) {
	l := newLab(t)
	l.restore(0)
	kill(l.run())
	l.is(mostPreferred, "after the kill")
	l.restore(1)
	l.is(3, "restored")
	l.notes(0)
	l.restore(0)
}

// The next user of the thread knows its priority from before the kill.
func TestTheNextUserRestoresThePriority(t *testing.T) {
	l := newLab(t)
	kill(l.run())
	undo, err := prefer(l.dir, preferredName, l.thread)
	if err != nil {
		t.Fatal(err)
	}
	l.is(mostPreferred, "preferred again")
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	l.is(3, "afterwards")
	l.notes(0)
}

// Of several users the last one restores the priority.
func TestTheLastUserRestoresThePriority(t *testing.T) {
	l := newLab(t)
	undo, err := prefer(l.dir, preferredName, l.thread)
	if err != nil {
		t.Fatal(err)
	}
	killed, other := l.run(), l.run()
	kill(killed)
	l.restore(0)
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	l.is(mostPreferred, "while another process prefers it")
	l.notes(1)
	kill(other)
	l.restore(1)
	l.is(3, "afterwards")
}

// A priority that another program has set meanwhile stays, and so does one of -20.
func TestOtherPrioritiesStay(t *testing.T) {
	for _, value := range []int{5, mostPreferred} {
		l := newLab(t)
		if value == mostPreferred {
			if err := setNice(preferredName, l.thread, value); err != nil {
				t.Fatal(err)
			}
		}
		undo, err := prefer(l.dir, preferredName, l.thread)
		if err != nil {
			t.Fatal(err)
		}
		if err := setNice(preferredName, l.thread, value); err != nil {
			t.Fatal(err)
		}
		if err := undo(); err != nil {
			t.Fatal(err)
		}
		l.is(value, "afterwards")
		l.notes(0)
	}
}

// A process that was killed before it wrote its note has not changed the priority.
func TestEmptyNote(t *testing.T) {
	l := newLab(t)
	if err := exclusively(l.dir, func() error {
		n, err := openNote(l.dir, preferredName)
		if err != nil {
			return err
		}
		return n.file.Close()
	}); err != nil {
		t.Fatal(err)
	}
	l.restore(0)
	l.is(3, "restored")
	l.notes(0)
}
