package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// Held is the common part of sessions of all protocols: a state, and the callers that wait for it or for
// routes. Its mutex guards the fields of the protocol, too.
type Held struct {
	Conf routing.Session
	// Learned returns what the session has learned. It is called under the mutex.
	Learned func() routing.Learnt

	sync.Mutex
	State   routing.State
	final   bool
	waiters map[*Waiter]bool
	changed chan struct{}
}

// Waiter waits for something that the session learns.
type Waiter struct {
	// Satisfied reports whether it is there. It is called under the mutex.
	Satisfied func() bool
	// Got receives what was learned then.
	Got chan routing.Learnt
}

// NewHeld returns the state of a session that is being opened.
func NewHeld(conf routing.Session, learned func() routing.Learnt) *Held {
	return &Held{
		Conf: conf, Learned: learned, State: routing.State{Session: conf.Name}, waiters: map[*Waiter]bool{}, changed: make(chan struct{}),
	}
}

// Common implements a part of Session for what embeds a Held.
func (h *Held) Common() *Held { return h }

// Keep calls once, which is one life of a session, until it returns that its end is final, or ctx
// ends. It waits for the time retry in between.
func Keep(ctx context.Context, retry time.Duration, once func(context.Context) (final bool)) {
	for !once(ctx) && ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
	}
}

// Establish notes, under the mutex, that the session is established from now.
func (h *Held) Establish() { h.State.Established, h.State.Since = true, endpoint.Now() }

// Fell notes, under the mutex, that the session is down for a cause, after it was up or not. A final
// cause is one after which trying again does not help.
func (h *Held) Fell(wasUp bool, cause string, final bool) {
	if wasUp {
		h.State.Established, h.State.Since = false, 0
		h.State.Flaps++
	}
	h.State.Cause, h.final = cause, final
	h.Notify()
}

// Notify lets those go on, under the mutex, who wait for another state.
func (h *Held) Notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Changed returns, under the mutex, what is closed at the next change of the state.
func (h *Held) Changed() <-chan struct{} { return h.changed }

// Down returns, under the mutex, the error of a session that is not established.
func (h *Held) Down() error {
	text := h.State.Cause
	if text == "" {
		text = "it is being opened"
	}
	return &routing.DownError{Protocol: h.Conf.Protocol, Session: h.Conf.Name, Port: h.Conf.Port, Cause: text, Final: h.final}
}

// opened reports whether the session is established, and counts its flaps from now.
func (h *Held) opened() bool {
	h.Lock()
	defer h.Unlock()
	if h.State.Established {
		h.State.Flaps = 0
	}
	return h.State.Established
}

// awaitUp waits until the session is established. It fails if that is refused for good, or ctx ends.
func (h *Held) awaitUp(ctx context.Context) error {
	for {
		h.Lock()
		established, down, changed := h.State.Established, h.Down(), h.changed
		final := h.final
		h.Unlock()
		if established {
			return nil
		}
		if final {
			return down
		}
		select {
		case <-ctx.Done():
			h.Lock()
			defer h.Unlock()
			return h.Down()
		case <-changed:
		}
	}
}

// Wait adds, under the mutex, one that waits. Forget removes it.
func (h *Held) Wait(w *Waiter) { h.waiters[w] = true }

// Forget removes, under the mutex, one that waits.
func (h *Held) Forget(w *Waiter) { delete(h.waiters, w) }

// Serve ends, under the mutex, the waiting for what is there.
func (h *Held) Serve() {
	for w := range h.waiters {
		if w.Satisfied() {
			w.Got <- h.Learned()
			delete(h.waiters, w)
		}
	}
}

// await waits for a table. A session that goes down and comes back meanwhile begins with an empty one.
func (h *Held) await(ctx context.Context, want routing.Table) (routing.Learnt, error) {
	w := &Waiter{Satisfied: func() bool { return h.Learned().Table == want }, Got: make(chan routing.Learnt, 1)}
	h.Lock()
	if h.State.Established && w.Satisfied() {
		defer h.Unlock()
		return h.Learned(), nil
	}
	h.Wait(w)
	h.Unlock()
	select {
	case got := <-w.Got:
		return got, nil
	case <-ctx.Done():
	}
	h.Lock()
	defer h.Unlock()
	h.Forget(w)
	got := h.Learned()
	if !h.State.Established {
		return got, h.Down()
	}
	return got, &routing.UnlearnedError{Protocol: h.Conf.Protocol, Session: h.Conf.Name, Want: want, Got: got.Table}
}

// learnt returns what the session has learned, and fails if it is down.
func (h *Held) learnt() (routing.Learnt, error) {
	h.Lock()
	defer h.Unlock()
	if !h.State.Established {
		return h.Learned(), h.Down()
	}
	return h.Learned(), nil
}

// SendError returns the cause of a failed write: ctx ended, or the session did, for a reason that is
// known only when the reader has found it. Over reports, under the mutex, whether the session is
// another by now.
func (h *Held) SendError(ctx context.Context, over func() bool, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		return fmt.Errorf("session %s: the device did not take all messages: %w", h.Conf.Name, context.Cause(ctx))
	}
	for {
		h.Lock()
		down, changed, ended := h.Down(), h.changed, over()
		h.Unlock()
		if ended {
			return down
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %s: %w", h.Conf.Name, err)
		case <-changed:
		}
	}
}
