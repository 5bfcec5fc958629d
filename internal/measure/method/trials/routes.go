package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// openTime is the time within which all sessions must be established.
const openTime = 2 * time.Minute

// endTime is the maximum time from the end of the sessions of the device's routing software
// to the end of the software.
const endTime = time.Second

// Installing: how long the tester waits until the device advertises what was announced, and
// how many routes it is expected to handle in a second at least.
const (
	installTime = 30 * time.Second
	installRate = 10_000 // routes/s
)

// Routes are the BGP or LDP sessions of the tester with the device, and the announcements on them.
type Routes struct {
	generator *Generator
	device    *Device
	// plan has the sessions and the announcements.
	plan plan.Plan
	// Speaker of the tester; nil without one.
	Speaker routing.Speaker
	// open reports whether the sessions are, and Announced which announcements of the plan
	// are, by their index.
	open      bool
	Announced map[int]bool
	// unlearnt is the reason why it is not known whether the device has installed them; nil
	// if it has.
	unlearnt error
}

// announceAll announces what the plan has and is not announced.
func (r *Routes) announceAll(ctx context.Context) error {
	missing := r.announcements(false)
	if len(missing) == 0 {
		return nil
	}
	if _, err := r.Announce(ctx, missing); err != nil {
		return err
	}
	return r.Installed(ctx)
}

// openAll opens the sessions of the bed, unless they are.
func (r *Routes) openAll(ctx context.Context, who string) error {
	if r.Speaker == nil {
		return r.generator.lacks("hold routing sessions", who)
	}
	if r.open {
		return nil
	}
	if err := r.OpenFirst(ctx, len(r.plan.Sessions), openTime); err != nil {
		return fmt.Errorf("opening %d sessions: %w%s", len(r.plan.Sessions), err, r.device.RouterEnded(ctx))
	}
	return nil
}

// OpenFirst opens the first sessions of the bed, and no others, within a time.
func (r *Routes) OpenFirst(ctx context.Context, n int, within time.Duration) error {
	var sessions []routing.Session
	for _, s := range r.plan.Sessions[:n] {
		sessions = append(sessions, s.Session)
	}
	if err := r.device.renewRouter(ctx); err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := r.Speaker.Open(opening, sessions); err != nil {
		return err
	}
	r.open, r.Announced = true, map[int]bool{}
	return nil
}

// Announce announces some of the plan's announcements, in their order, and returns when the first
// message on each port was sent. A session that is down is awaited as long as its opening: a router
// that begins BFD anew once BGP is up ends it again.
func (r *Routes) Announce(ctx context.Context, which []int) (traffic.Moments, error) {
	return r.announceBy(which, func(session string, sets []routing.Routes) (routing.Sent, error) {
		return r.awaitAnnounce(ctx, session, sets)
	})
}

// AnnounceNow announces without waiting for a session that is down.
func (r *Routes) AnnounceNow(ctx context.Context, which []int) error {
	_, err := r.announceBy(which, func(session string, sets []routing.Routes) (routing.Sent, error) {
		return r.Speaker.Announce(ctx, session, sets)
	})
	return err
}

func (r *Routes) announceBy(which []int, do func(session string, sets []routing.Routes) (routing.Sent, error)) (traffic.Moments, error) {
	return r.bySession(which, func(session string, sets []routing.Routes) (routing.Sent, error) {
		sent, err := do(session, sets)
		if err != nil {
			return sent, fmt.Errorf("announcing routes: %w", err)
		}
		return sent, nil
	}, true)
}

func (r *Routes) awaitAnnounce(ctx context.Context, session string, sets []routing.Routes) (routing.Sent, error) {
	clock := r.generator.Clock()
	for begin := clock.Now(); ; {
		sent, err := r.Speaker.Announce(ctx, session, sets)
		var down *routing.DownError
		if !errors.As(err, &down) || down.Final || clock.Now().Sub(begin) >= openTime {
			return sent, err
		}
		if clock.Sleep(ctx, LookForRoutes) != nil {
			return sent, err
		}
	}
}

// announcements are the plan's that are announced now, or those that are not, by their
// index.
func (r *Routes) announcements(announced bool) (which []int) {
	for i := range r.plan.Announcements {
		if r.Announced[i] == announced {
			which = append(which, i)
		}
	}
	return which
}

// WithdrawAll takes back what is announced. Sessions of LDP are opened anew for it: FRR 8.4 passes
// the withdrawal of a label on to none of its peers.
func (r *Routes) WithdrawAll(ctx context.Context) error {
	if len(r.announcements(true)) > 0 && r.plan.Sessions[0].Protocol == routing.LDP {
		return r.OpenFirst(ctx, len(r.plan.Sessions), openTime)
	}
	if _, err := r.Withdraw(ctx, r.announcements(true)); err != nil {
		return err
	}
	return r.Installed(ctx)
}

// Withdraw takes some of the plan's announcements back, and returns when the first message on each
// port was sent.
func (r *Routes) Withdraw(ctx context.Context, which []int) (traffic.Moments, error) {
	return r.bySession(which, func(session string, sets []routing.Routes) (routing.Sent, error) {
		sent, err := r.Speaker.Withdraw(ctx, session, sets)
		if err != nil {
			return sent, fmt.Errorf("withdrawing routes: %w", err)
		}
		return sent, nil
	}, false)
}

// bySession calls do with the sets of announcements that follow each other on one session. It
// returns when the first message on each port was sent.
func (r *Routes) bySession(which []int, do func(session string, sets []routing.Routes) (routing.Sent, error), announced bool) (traffic.Moments, error) {
	sent := traffic.Moments{}
	for len(which) > 0 {
		session := r.plan.Announcements[which[0]].Session
		n := slices.IndexFunc(which, func(i int) bool { return r.plan.Announcements[i].Session != session })
		if n < 0 {
			n = len(which)
		}
		var sets []routing.Routes
		for _, i := range which[:n] {
			sets = append(sets, r.plan.Announcements[i].Routes)
		}
		one, err := do(r.plan.Sessions[session].Name, sets)
		if err != nil {
			return nil, err
		}
		SentOn(sent, r.plan.Sessions[session].Port, one)
		for _, i := range which[:n] {
			r.Announced[i] = announced
		}
		which = which[n:]
	}
	return sent, nil
}

// SentOn adds messages that were sent on a port to the times of the first message on each.
func SentOn(first traffic.Moments, port string, sent routing.Sent) {
	if before, known := first[port]; sent.First > 0 && (!known || sent.First < before) {
		first[port] = sent.First
	}
}

// Installed waits until the device advertises on every session what it should of the
// announcements. A device that advertises something else, since its policy says so, is
// left to the trials.
func (r *Routes) Installed(ctx context.Context) error {
	r.unlearnt = nil
	for i, s := range r.plan.Sessions {
		want := r.plan.Advertised(i, func(a int) bool { return r.Announced[a] })
		waiting, cancel := context.WithTimeout(ctx, installTime+time.Duration(want.Routes)*time.Second/installRate)
		_, err := r.Speaker.Await(waiting, s.Name, want)
		cancel()
		var unlearnt *routing.UnlearnedError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &unlearnt):
			r.unlearnt = err
			return nil
		case err != nil:
			return fmt.Errorf("waiting until the device has installed the routes: %w", err)
		}
	}
	return nil
}

// States returns the states of all sessions by name; nil if none is open.
func (r *Routes) States(ctx context.Context) (map[string]routing.State, error) {
	if !r.open {
		return nil, nil
	}
	all, err := r.Speaker.States(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the states of the sessions: %w", err)
	}
	by := make(map[string]routing.State, len(all))
	for _, s := range all {
		by[s.Session] = s
	}
	return by, nil
}

// restore opens the sessions anew when one of them is down, and announces what was
// announced. It returns how they are then.
func (r *Routes) restore(ctx context.Context, who string) (map[string]routing.State, error) {
	before, err := r.States(ctx)
	if err != nil || before == nil {
		return nil, err
	}
	whole := true
	for _, s := range before {
		whole = whole && s.Established && s.Flaps == 0
	}
	if whole {
		return before, nil
	}
	which := r.announcements(true)
	r.open = false
	if err := r.openAll(ctx, who); err != nil {
		return nil, err
	}
	if _, err := r.Announce(ctx, which); err != nil {
		return nil, err
	}
	if err := r.Installed(ctx); err != nil {
		return nil, err
	}
	return r.States(ctx)
}

// flapped returns a note for each session that was down in a trial, given the states before
// it. Frames that were lost then are not the device's loss.
func (r *Routes) flapped(ctx context.Context, before map[string]routing.State) ([]traffic.Note, error) {
	if before == nil {
		return nil, nil
	}
	after, err := r.States(ctx)
	if err != nil {
		return nil, err
	}
	var notes []traffic.Note
	for _, s := range r.plan.Sessions {
		now := after[s.Name]
		if now.Established && now.Flaps == before[s.Name].Flaps {
			continue
		}
		text := (&routing.DownError{Protocol: s.Protocol, Session: s.Name, Port: s.Port, Cause: now.Cause}).Error() + " during the trial"
		notes = append(notes, traffic.Note{Kind: traffic.NoteSession, Text: text + r.device.RouterEnded(ctx)})
	}
	return notes, nil
}

// notLearnt explains, for a person, that the device does not advertise the announced routes;
// empty if it does.
func (r *Routes) notLearnt() string {
	if r.unlearnt == nil {
		return ""
	}
	return fmt.Sprintf("it is not known whether the device has installed all routes: %v", r.unlearnt)
}

// LookForRoutes is the interval at which the routes that a session has learned are queried.
const LookForRoutes = 20 * time.Millisecond
