//go:build linux

package router

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/vishvananda/netns"
)

// Router is a router in a network namespace that can be started anew.
type Router struct {
	namespace    netns.NsHandle
	kind, config string
	options      []Option

	mu sync.Mutex
	// daemons is guarded by mu, and nil while the router is stopped.
	daemons *Daemons
}

// NewRouter is a router of a kind that Start starts, with its configuration.
func NewRouter(ns netns.NsHandle, kind, config string, options ...Option) *Router {
	return &Router{namespace: ns, kind: kind, config: config, options: options}
}

// Start starts the router, as the function Start does.
func (r *Router) Start(ctx context.Context) error {
	d, err := Start(ctx, r.namespace, r.kind, r.config, r.options...)
	r.swap(d)
	return err
}

// swap sets the processes of the router, and returns those that it had.
func (r *Router) swap(d *Daemons) *Daemons {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.daemons
	r.daemons = d
	return before
}

// running are the processes of the router; nil while it is stopped.
func (r *Router) running() *Daemons {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.daemons
}

// Restart ends the router and starts it anew, without routes.
func (r *Router) Restart(ctx context.Context) error {
	if err := errors.Join(r.Stop(), r.Start(ctx)); err != nil {
		return fmt.Errorf("starting the router anew: %w", err)
	}
	return nil
}

// Ended returns the reason why a process of the router ended by itself; empty while all run.
func (r *Router) Ended() string {
	d := r.running()
	if d == nil {
		return ""
	}
	if err := d.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// Memory returns the number of bytes that the processes of the router have in RAM together,
// and whether it is known. It is not known if one of them has ended. It may be called while
// other methods are.
func (r *Router) Memory() (bytes int64, known bool) {
	d := r.running()
	if d == nil {
		return 0, false
	}
	return d.Memory()
}

// PID of the process that speaks BGP; without one, of ldpd or pimd. 0 when the router is stopped.
func (r *Router) PID() int {
	d := r.running()
	if d == nil {
		return 0
	}
	return d.PID()
}

// Stop ends the router. It may be called more than once.
func (r *Router) Stop() error {
	d := r.swap(nil)
	if d == nil {
		return nil
	}
	return d.Stop()
}

// Version of a kind of router as it says it itself, such as FRR 8.4.4.
func Version(ctx context.Context, kind string) (string, error) {
	programs, err := programsOf(kind, "", "")
	if err != nil {
		return "", err
	}
	command := []string{birdProgram, "--version"}
	if kind == FRR {
		command = []string{programs[len(programs)-1].command[0], "--version"}
	}
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", command[0], err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	for _, word := range strings.Fields(line) {
		if word[0] >= '0' && word[0] <= '9' {
			return strings.ToUpper(kind) + " " + word, nil
		}
	}
	return strings.ToUpper(kind), nil
}
