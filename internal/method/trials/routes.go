package trials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// WithSpeaker gives the tester its sessions with the device. Open gets them without
// passwords, which the speaker has from elsewhere.
func WithSpeaker(s routing.Speaker) Option { return func(l *Tester) { l.Speaker = s } }

// routes are the sessions of a tester, and what is announced on them.
type routes struct {
	// Speaker of the tester; nil without one.
	Speaker routing.Speaker
	// Router of the device; nil when it cannot be started anew. Full reports whether
	// its table is full: it is started anew before the next test.
	Router Router
	Full   bool
	// open reports whether the sessions are, and announced which announcements of the plan
	// are, by their index.
	open      bool
	Announced map[int]bool
	// unlearnt is the reason why it is not known whether the device has installed them; nil
	// if it has.
	unlearnt error
}

// withRoutes announces what the plan has, before streams are sent to it. A method with
// routes of its own begins with open sessions on which nothing is announced.
func (l *Tester) withRoutes(ctx context.Context, d Definition) error {
	if len(l.Plan.Announcements) == 0 || d.OwnSessions {
		return nil
	}
	if err := l.openSessions(ctx, d.Member); err != nil {
		return err
	}
	if d.OwnRoutes {
		l.configured = nil // The streams have no routes now.
		return l.WithdrawAll(ctx)
	}
	missing := l.announcements(false)
	if len(missing) == 0 {
		return nil
	}
	if err := l.Announce(ctx, missing); err != nil {
		return err
	}
	return l.Installed(ctx)
}

// openSessions opens the sessions of the bed, unless they are.
func (l *Tester) openSessions(ctx context.Context, who string) error {
	if l.Speaker == nil {
		return &traffic.MissingError{Engine: string(l.Plan.Engine), Cannot: "hold BGP sessions", Needs: who}
	}
	if l.open {
		return nil
	}
	if err := l.OpenFirst(ctx, len(l.Plan.Sessions), openTime); err != nil {
		return fmt.Errorf("opening %d BGP sessions: %w", len(l.Plan.Sessions), err)
	}
	return nil
}

// OpenFirst opens the first sessions of the bed, and no others, within a time.
func (l *Tester) OpenFirst(ctx context.Context, n int, within time.Duration) error {
	var sessions []routing.Session
	for _, s := range l.Plan.Sessions[:n] {
		sessions = append(sessions, s.Session)
	}
	if l.Router != nil && (l.Full || l.Router.Ended() != "") {
		if err := l.Router.Restart(ctx); err != nil {
			return err
		}
	}
	l.Full = false
	opening, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := l.Speaker.Open(opening, sessions); err != nil {
		return err
	}
	l.open, l.Announced = true, map[int]bool{}
	return nil
}

// Announce announces some of the plan's announcements, in their order. A session that is
// down is awaited as long as its opening: a router that begins BFD anew once BGP is up ends
// it again.
func (l *Tester) Announce(ctx context.Context, which []int) error {
	return l.announceBy(which, func(session string, sets []routing.Routes) error {
		return l.awaitAnnounce(ctx, session, sets)
	})
}

// AnnounceNow announces without waiting for a session that is down.
func (l *Tester) AnnounceNow(ctx context.Context, which []int) error {
	return l.announceBy(which, func(session string, sets []routing.Routes) error {
		_, err := l.Speaker.Announce(ctx, session, sets)
		return err
	})
}

func (l *Tester) announceBy(which []int, do func(session string, sets []routing.Routes) error) error {
	return l.bySession(which, func(session string, sets []routing.Routes) error {
		if err := do(session, sets); err != nil {
			return fmt.Errorf("announcing routes: %w", err)
		}
		return nil
	}, true)
}

func (l *Tester) awaitAnnounce(ctx context.Context, session string, sets []routing.Routes) error {
	clock := l.Generator.Clock()
	for begin := clock.Now(); ; {
		_, err := l.Speaker.Announce(ctx, session, sets)
		var down *routing.DownError
		if !errors.As(err, &down) || down.Final || clock.Now().Sub(begin) >= openTime {
			return err
		}
		if clock.Sleep(ctx, LookForRoutes) != nil {
			return err
		}
	}
}

// announcements are the plan's that are announced now, or those that are not, by their
// index.
func (l *Tester) announcements(announced bool) (which []int) {
	for i := range l.Plan.Announcements {
		if l.Announced[i] == announced {
			which = append(which, i)
		}
	}
	return which
}

// WithdrawAll takes back what is announced.
func (l *Tester) WithdrawAll(ctx context.Context) error {
	if err := l.Withdraw(ctx, l.announcements(true)); err != nil {
		return err
	}
	return l.Installed(ctx)
}

// Withdraw takes some of the plan's announcements back.
func (l *Tester) Withdraw(ctx context.Context, which []int) error {
	return l.bySession(which, func(session string, sets []routing.Routes) error {
		if _, err := l.Speaker.Withdraw(ctx, session, sets); err != nil {
			return fmt.Errorf("withdrawing routes: %w", err)
		}
		return nil
	}, false)
}

// bySession calls do with the sets of announcements that follow each other on one session.
func (l *Tester) bySession(which []int, do func(session string, sets []routing.Routes) error, announced bool) error {
	for len(which) > 0 {
		first := l.Plan.Announcements[which[0]]
		n := slices.IndexFunc(which, func(i int) bool { return l.Plan.Announcements[i].Session != first.Session })
		if n < 0 {
			n = len(which)
		}
		var sets []routing.Routes
		for _, i := range which[:n] {
			sets = append(sets, l.Plan.Announcements[i].Routes)
		}
		if err := do(l.Plan.Sessions[first.Session].Name, sets); err != nil {
			return err
		}
		for _, i := range which[:n] {
			l.Announced[i] = announced
		}
		which = which[n:]
	}
	return nil
}

// Installed waits until the device advertises on every session what it should of the
// announcements. A device that advertises something else, since its policy says so, is
// left to the trials.
func (l *Tester) Installed(ctx context.Context) error {
	l.unlearnt = nil
	for i, s := range l.Plan.Sessions {
		want := l.Plan.Advertised(i, func(a int) bool { return l.Announced[a] })
		waiting, cancel := context.WithTimeout(ctx, installTime+time.Duration(want.Routes)*time.Second/installRate)
		_, err := l.Speaker.Await(waiting, s.Name, want)
		cancel()
		var unlearnt *routing.UnlearnedError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &unlearnt):
			l.unlearnt = err
			return nil
		case err != nil:
			return fmt.Errorf("waiting until the device has installed the routes: %w", err)
		}
	}
	return nil
}

// States returns the states of all sessions by name; nil if none is open.
func (l *Tester) States(ctx context.Context) (map[string]routing.State, error) {
	if !l.open {
		return nil, nil
	}
	all, err := l.Speaker.States(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking for the states of the BGP sessions: %w", err)
	}
	by := make(map[string]routing.State, len(all))
	for _, s := range all {
		by[s.Session] = s
	}
	return by, nil
}

// restoreRoutes opens the sessions anew when one of them is down, and announces what was
// announced. It returns how they are then.
func (l *Tester) restoreRoutes(ctx context.Context, who string) (map[string]routing.State, error) {
	before, err := l.States(ctx)
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
	which := l.announcements(true)
	l.open = false
	if err := l.openSessions(ctx, who); err != nil {
		return nil, err
	}
	if err := l.Announce(ctx, which); err != nil {
		return nil, err
	}
	if err := l.Installed(ctx); err != nil {
		return nil, err
	}
	return l.States(ctx)
}

// flapped returns a note for each session that was down in a trial, given the states before
// it. Frames that were lost then are not the device's loss.
func (l *Tester) flapped(ctx context.Context, before map[string]routing.State) ([]traffic.Note, error) {
	if before == nil {
		return nil, nil
	}
	after, err := l.States(ctx)
	if err != nil {
		return nil, err
	}
	var notes []traffic.Note
	for _, s := range l.Plan.Sessions {
		now := after[s.Name]
		if now.Established && now.Flaps == before[s.Name].Flaps {
			continue
		}
		text := (&routing.DownError{Session: s.Name, Port: s.Port, Cause: now.Cause}).Error() + " during the trial"
		notes = append(notes, traffic.Note{Kind: traffic.NoteSession, Text: text + l.RouterEnded(ctx)})
	}
	return notes, nil
}

// RouterEnded returns the reason why the routing software of the device has ended, to append
// to the note on a session that went down; empty if it runs.
func (l *Tester) RouterEnded(ctx context.Context) string {
	if l.Router == nil {
		return ""
	}
	clock := l.Generator.Clock()
	for begin := clock.Now(); ; {
		if why := l.Router.Ended(); why != "" {
			return "; the router of the device: " + why
		}
		if clock.Now().Sub(begin) >= endTime || clock.Sleep(ctx, LookForRoutes) != nil {
			return ""
		}
	}
}

// notLearnt explains, for a person, that the device does not advertise the announced routes;
// empty if it does.
func (l *Tester) notLearnt() string {
	if l.unlearnt == nil {
		return ""
	}
	return fmt.Sprintf("it is not known whether the device has installed all routes: %v", l.unlearnt)
}

// LookForRoutes is the interval at which the routes that a session has learned are queried.
const LookForRoutes = 20 * time.Millisecond
