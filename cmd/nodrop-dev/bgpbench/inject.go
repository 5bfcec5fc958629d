package bgpbench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/bgp"
)

// job describes what an injector has to do; it goes to its standard input.
type job struct {
	Kind    string
	Session routing.Session
	Sets    []routing.Routes
	Socket  string
}

// done is the result that an injector reports.
type done struct {
	// Start is the time at which the first route was sent, of CLOCK_MONOTONIC.
	Start uint64
	// Own is the time of the tester for itself; 0 where it is not seen.
	Own time.Duration
	// Base is the resident memory of the program before it did anything, in bytes.
	Base uint64
}

// Inject is the process of an injector: it reads a job, opens the session, reports that by a
// line, waits for a line, injects, reports the result, and ends when its input does.
func Inject(ctx context.Context, in io.Reader, out io.Writer) error {
	base, err := restartPeak()
	if err != nil {
		return err
	}
	r, w := bufio.NewReaderSize(in, 1<<20), json.NewEncoder(out)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("reading the job: %w", err)
	}
	var inject func() (done, error)
	switch j.Kind {
	case ours:
		s := bgp.New(bgp.Options{Ports: map[string]bgp.Port{"p": {}}, Retry: 100 * time.Millisecond})
		defer s.Close()
		if err := s.Open(ctx, []routing.Session{j.Session}); err != nil {
			return err
		}
		inject = func() (done, error) {
			sent, err := s.Announce(ctx, j.Session.Name, j.Sets)
			return done{Start: sent.First, Own: sent.Own}, err
		}
	default:
		g, err := newGoBGP(ctx, &j)
		if err != nil {
			return err
		}
		defer g.close()
		inject = func() (done, error) { return done{}, nil }
	}
	if err := w.Encode("ready"); err != nil {
		return err
	}
	if _, err := r.ReadBytes('\n'); err != nil {
		return err
	}
	d, err := inject()
	if err != nil {
		return err
	}
	d.Base = base
	if err := w.Encode(d); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, r)
	return nil
}

// restartPeak has the kernel measure the highest resident memory of this process from
// what it is now, and returns that.
func restartPeak() (uint64, error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return 0, err
	}
	return peak(os.Getpid())
}

// peak is the highest resident memory of a process, in bytes.
func peak(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("no VmHWM of process %d", pid)
	}
	kilobytes, err := strconv.ParseUint(fields[0], 10, 64)
	return kilobytes << 10, err
}

func monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // always there
	return uint64(t.Nano())
}
