package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/traffic/frame/frametest"
)

// routerOf is the folder of the router that a run has started, and the process in it that
// speaks BGP.
func routerOf(t *testing.T, p *process) (folder string, pid int) {
	t.Helper()
	eventually(t, "the router of the run", func() bool {
		files, _ := filepath.Glob(filepath.Join(router.Dir, "router-*", "b*d.pid"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", p.cmd.Process.Pid)) {
				folder = filepath.Dir(file)
				return true
			}
		}
		return false
	}, func() string { return p.stderr.String() })
	return folder, pid
}

// wire records the frames that packet sockets in the device's namespace see: test frames that
// the device forwards, and the tester's BGP messages.
type wire struct {
	mu      sync.Mutex
	frames  []wireFrame
	updates []wireUpdate
	// refreshes are the ROUTE-REFRESH messages of the tester, and answers the segments that the
	// device sent on its sessions.
	refreshes []time.Time
	answers   []wireAnswer
}

// wireAnswer is a segment of a number of bytes that the device sent.
type wireAnswer struct {
	port  string
	at    time.Time
	bytes int
}

// wireFrame is a test frame that the device sent on a port, and wireUpdate a segment that
// begins with an UPDATE message of the tester. Times are of one clock.
type wireFrame struct {
	port      string
	at        time.Time
	signature frame.Signature
}

type wireUpdate struct {
	port     string
	at       time.Time
	withdraw bool
}

// captureOn captures on ports of the device that the process is in, until the test ends.
func captureOn(t *testing.T, pid int, ports ...string) *wire {
	t.Helper()
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	w := &wire{}
	for _, port := range ports {
		var fd int
		if err := netif.In(ns, func() (err error) { fd, err = packetSocket(port); return err }); err != nil {
			t.Fatal(err)
		}
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); w.Read(fd, port, stop) }()
		t.Cleanup(func() {
			close(stop)
			<-ended
			unix.Close(fd)
		})
	}
	return w
}

func packetSocket(port string) (int, error) {
	link, err := netlink.LinkByName(port)
	if err != nil {
		return 0, err
	}
	all := uint16(unix.ETH_P_ALL)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	return fd, errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: link.Attrs().Index}))
}

func (w *wire) Read(fd int, port string, stop chan struct{}) {
	b, control := make([]byte, 10_000), make([]byte, 128)
	for {
		n, c, _, from, err := unix.Recvmsg(fd, b, control, 0)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			select {
			case <-stop:
				return
			default:
				continue
			}
		case err != nil:
			return // the namespace has ended
		}
		if sender, ok := from.(*unix.SockaddrLinklayer); ok {
			w.see(port, sender.Pkttype == unix.PACKET_OUTGOING, stamp(control[:c]), b[:n])
		}
	}
}

// stamp returns the time at which the kernel received a frame.
func stamp(control []byte) time.Time {
	messages, _ := unix.ParseSocketControlMessage(control)
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		}
	}
	return time.Time{}
}

// see takes a frame without tags in.
func (w *wire) see(port string, outgoing bool, at time.Time, b []byte) {
	const ethernet, udp = 14, 8
	if len(b) < ethernet+40 {
		return
	}
	packet, protocol, header := b[ethernet:], byte(0), 0
	switch binary.BigEndian.Uint16(b[12:]) {
	case unix.ETH_P_IP:
		protocol, header = packet[9], 20
		packet = packet[:min(len(packet), int(binary.BigEndian.Uint16(packet[2:])))]
	case unix.ETH_P_IPV6:
		protocol, header = packet[6], 40
	default:
		return
	}
	packet = packet[min(len(packet), header):]
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case protocol == unix.IPPROTO_UDP && outgoing && len(packet) > udp:
		if s, ok := frametest.ParseSignature(packet[udp:]); ok {
			w.frames = append(w.frames, wireFrame{port, at, frame.Signature(s)})
		}
	case protocol == unix.IPPROTO_TCP && !outgoing && len(packet) >= 20 && binary.BigEndian.Uint16(packet[2:]) == 179:
		message := packet[min(len(packet), int(packet[12]>>4)*4):]
		if withdraw, ok := updateIn(message); ok {
			w.updates = append(w.updates, wireUpdate{port, at, withdraw})
		}
		if isRefresh(message) {
			w.refreshes = append(w.refreshes, at)
		}
	case protocol == unix.IPPROTO_TCP && outgoing && len(packet) >= 20 && binary.BigEndian.Uint16(packet) == 179:
		w.answers = append(w.answers, wireAnswer{port, at, len(packet) - int(packet[12]>>4)*4})
	}
}

// isRefresh reports whether BGP messages begin with a ROUTE-REFRESH that asks for routes (RFC 7313).
func isRefresh(m []byte) bool {
	const refresh = 5
	return len(m) >= 23 && bytes.Equal(m[:16], bytes.Repeat([]byte{0xff}, 16)) && m[18] == refresh && m[21] == 0
}

// updateIn reports whether BGP messages begin with an UPDATE that announces or withdraws
// routes (ok), and whether it withdraws them.
func updateIn(m []byte) (withdraw, ok bool) {
	const update, endOfRIB, mpUnreach = 2, 23, 15
	if len(m) < 30 || !bytes.Equal(m[:16], bytes.Repeat([]byte{0xff}, 16)) || m[18] != update || binary.BigEndian.Uint16(m[16:]) <= endOfRIB {
		return false, false
	}
	// Behind the length of the withdrawn routes, that of the attributes, and the flags.
	return binary.BigEndian.Uint16(m[19:]) > 0 || m[24] == mpUnreach, binary.BigEndian.Uint16(m[16:]) > 30
}

// trials are the epochs of trials of which so many frames were forwarded, in their order.
func (w *wire) trials(least int) []uint16 {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := map[uint16]int{}
	var all []uint16
	for _, f := range w.frames {
		if count[f.signature.Epoch]++; count[f.signature.Epoch] == least {
			all = append(all, f.signature.Epoch)
		}
	}
	return all
}

// awaitTrial waits until frames of the n-th trial are forwarded, counting from 1.
func (w *wire) awaitTrial(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("frames of trial %d", n), func() bool { return len(w.trials(1000)) >= n },
		func() string { return fmt.Sprint(w.trials(1)) })
}

// convergence contains the convergence times of a trial in which routes were announced and
// withdrawn. announced is the time from the first UPDATE message of the announcement until no
// frame was missing any more. withdrawn is the time from that of the withdrawal until the last
// frame was forwarded.
type convergence struct{ announced, withdrawn time.Duration }

// converged are the trials in which routes were announced and withdrawn, in their order.
func (w *wire) converged(t *testing.T) []convergence {
	t.Helper()
	trials := w.trials(1000)
	w.mu.Lock()
	defer w.mu.Unlock()
	var events []wireUpdate
	for _, u := range w.updates {
		if u.withdraw == (len(events)%2 == 1) {
			events = append(events, u)
		}
	}
	if len(events) != 2*len(trials) {
		t.Fatalf("captured %d changes of the routes in %d trials, want two in each", len(events), len(trials))
	}
	all, next := make([]convergence, len(trials)), make([]uint64, len(trials))
	for _, f := range w.frames {
		i := slices.Index(trials, f.signature.Epoch)
		if i < 0 {
			continue
		}
		announce, withdraw := events[2*i].at, events[2*i+1].at
		switch {
		case f.at.Before(withdraw) && f.signature.Sequence != next[i]:
			all[i].announced = f.at.Sub(announce) // those before it are missing
		case f.at.After(withdraw):
			all[i].withdrawn = f.at.Sub(withdraw)
		}
		next[i] = f.signature.Sequence + 1
	}
	return all
}

// flaps contains the measurements of a capture with flapping routes.
type flaps struct {
	// withdrawn is the time after each withdrawal until no frame was missing any more.
	// announced is the time after each announcement until all frames took the path to the port
	// that announces the routes.
	withdrawn, announced []time.Duration
	elsewhere, lost      int64
}

// flapped evaluates the frames of the last trial, in which the routes of port home flapped the
// given number of times.
func (w *wire) flapped(t *testing.T, home string, often int) (seen flaps) {
	t.Helper()
	trials := w.trials(1000)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(trials) == 0 {
		t.Fatal("no trial was captured")
	}
	var frames []wireFrame
	for _, f := range w.frames {
		if f.signature.Epoch == trials[len(trials)-1] {
			frames = append(frames, f)
		}
	}
	slices.SortStableFunc(frames, func(a, b wireFrame) int {
		return cmp.Or(cmp.Compare(a.signature.Stream, b.signature.Stream), cmp.Compare(a.signature.Sequence, b.signature.Sequence))
	})
	var events []wireUpdate
	for _, u := range w.updates {
		if u.port == home && u.at.After(frames[0].at) && u.withdraw != (len(events)%2 == 1) {
			events = append(events, u)
		}
	}
	if len(events) != 2*often {
		t.Fatalf("captured %d changes of the routes, want %d", len(events), 2*often)
	}
	seen.withdrawn, seen.announced = make([]time.Duration, often), make([]time.Duration, often)
	for i, f := range frames {
		next := uint64(0)
		if i > 0 && frames[i-1].signature.Stream == f.signature.Stream {
			next = frames[i-1].signature.Sequence + 1
		}
		missing := int64(f.signature.Sequence - next)
		seen.lost += missing
		if f.port != home {
			seen.elsewhere++
		}
		event := -1
		for n, e := range events {
			if f.at.After(e.at) {
				event = n
			}
		}
		switch {
		case event < 0:
		case event%2 == 0 && missing > 0:
			seen.withdrawn[event/2] = max(seen.withdrawn[event/2], f.at.Sub(events[event].at))
		case event%2 == 1 && (missing > 0 || f.port != home):
			seen.announced[event/2] = max(seen.announced[event/2], f.at.Sub(events[event].at))
		}
	}
	return seen
}
