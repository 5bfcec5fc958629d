//go:build linux

package hostdevice

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/netif"
)

// Port asks for an interface.
type Port struct {
	// Name of the port in the bed, and Path of the field that names the interface.
	Name string
	Path *field.Path
	// Interface that is wanted.
	Interface string
	// Adds are the addresses that the run gives the interface.
	Adds []netip.Prefix
}

// Request describes which interfaces a run wants.
type Request struct {
	// Benchmark that is run.
	Benchmark string
	// Origin is the network namespace that has the interfaces.
	Origin netns.NsHandle
	// To is the namespace that they are moved to; they stay where they are when it is
	// closed.
	To netns.NsHandle
	// Ports in the order of the bed.
	Ports []Port
}

// RefusedError reports which interfaces a run cannot have, and why.
type RefusedError struct{ Problems field.ErrorList }

// Error implements error.
func (e *RefusedError) Error() string { return e.Problems.ToAggregate().Error() }

// Taken are interfaces of a run.
type Taken struct {
	store *Store
	dir   string
	lock  *os.File
	// The content of the directory is kept here too, as the directory may be removed.
	note        *Note
	origin, run netns.NsHandle
	once        sync.Once
	err         error
}

// Take takes interfaces. It fails with a RefusedError, and has changed nothing, when one
// of them serves something else. After any other error all is as it was, or a note is
// left by which Clean puts it back.
func (s *Store) Take(r Request) (*Taken, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	var t *Taken
	err := s.exclusively(func() error {
		note, err := s.judge(r)
		if err != nil {
			return err
		}
		t, err = s.begin(r, note)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := t.move(r); err != nil {
		return nil, errors.Join(err, t.PutBack())
	}
	return t, nil
}

// judge returns a note of the state of the interfaces, or an error if some of them cannot be
// had.
func (s *Store) judge(r Request) (*Note, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	namespace, err := netif.Inode(int(r.Origin))
	if err != nil {
		return nil, fmt.Errorf("identifying the network namespace of the interfaces: %w", err)
	}
	living, err := s.livingNotes()
	if err != nil {
		return nil, err
	}
	note := &Note{PID: os.Getpid(), Benchmark: r.Benchmark, Time: time.Now().UTC().Truncate(time.Second), Boot: boot, Namespace: namespace}
	return note, netif.In(r.Origin, func() error {
		links, problems, err := judge(r, namespace, living)
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return &RefusedError{problems}
		}
		for n, link := range links {
			i, err := capture(link, r.Ports[n].Adds)
			if err != nil {
				return fmt.Errorf("reading interface %s of port %s: %w", r.Ports[n].Interface, r.Ports[n].Name, err)
			}
			note.Interfaces = append(note.Interfaces, i)
		}
		return nil
	})
}

// begin keeps the namespaces, and a note for this process. From the moment that the note
// is written, interfaces may have changed.
func (s *Store) begin(r Request, note *Note) (_ *Taken, err error) {
	// A directory of the same number is of a dead process whose interfaces could not be
	// put back.
	dir := ""
	for n := note.PID; dir == ""; n += 1 << 22 { // more than there are process numbers
		path := filepath.Join(s.dir, strconv.Itoa(n))
		err := os.Mkdir(path, 0o700)
		switch {
		case err == nil:
			dir = path
		case !errors.Is(err, os.ErrExist):
			return nil, fmt.Errorf("making the directory of the run: %w", err)
		}
	}
	t := &Taken{store: s, dir: dir, note: note, origin: netns.None(), run: netns.None()}
	defer func() {
		if err != nil {
			closeAll(&t.origin, &t.run)
			err = errors.Join(err, remove(dir))
		}
	}()
	if t.origin, err = duplicate(r.Origin); err != nil {
		return nil, err
	}
	if t.run, err = duplicate(r.To); err != nil {
		return nil, err
	}
	if t.lock, err = lockAt(filepath.Join(dir, lockFile), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("locking the directory of the run: %w", err)
	}
	if err := pin(r.Origin, filepath.Join(dir, originFile)); err != nil {
		return nil, err
	}
	if r.To.IsOpen() {
		if err := pin(r.To, filepath.Join(dir, runFile)); err != nil {
			return nil, err
		}
	}
	return t, note.write(dir)
}

// move moves the interfaces, if they are to be moved.
func (t *Taken) move(r Request) error {
	if !r.To.IsOpen() {
		return nil
	}
	return netif.In(r.Origin, func() error {
		for _, p := range r.Ports {
			link, err := netlink.LinkByName(p.Interface)
			if err == nil {
				err = netlink.LinkSetNsFd(link, int(r.To))
			}
			if err != nil {
				return hint.With(fmt.Errorf("moving interface %s of port %s into the network namespace of the run: %w", p.Interface, p.Name, err),
					"an interface that cannot be moved can be used where it is: --in-place")
			}
		}
		return nil
	})
}

// PutBack puts all interfaces back as they were. It does so once, however often it is
// called. What could not be put back is left to Clean.
func (t *Taken) PutBack() error {
	t.once.Do(func() {
		defer closeAll(&t.origin, &t.run)
		if t.err = t.store.open(); t.err == nil {
			t.err = t.store.exclusively(t.putBack)
		} else {
			t.err = errors.Join(t.err, t.putBack())
		}
		t.lock.Close()
	})
	return t.err
}

func (t *Taken) putBack() error {
	back, err := t.note.putBack(t.origin, t.run)
	if err != nil {
		return err
	}
	errs := []error{remove(t.dir)}
	for _, b := range back {
		if b.Gone {
			errs = append(errs, &goneError{b.Interface})
		}
		for _, text := range b.Failed {
			errs = append(errs, fmt.Errorf("putting back interface %s: %s", b.Interface, text))
		}
	}
	return errors.Join(errs...)
}

// duplicate is another handle of a namespace, closed where that is.
func duplicate(ns netns.NsHandle) (netns.NsHandle, error) {
	if !ns.IsOpen() {
		return netns.None(), nil
	}
	fd, err := unix.FcntlInt(uintptr(ns), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return netns.None(), fmt.Errorf("keeping a network namespace: %w", err)
	}
	return netns.NsHandle(fd), nil
}
