package method

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// Installing: how long the lab waits until the device advertises what was announced, and
// how many routes it is expected to handle in a second at least.
const (
	installTime = 30 * time.Second
	installRate = 10_000 // routes/s
)

// WithSpeaker gives the lab the tester's sessions with the device. Open gets them without
// passwords, which the speaker has from elsewhere.
func WithSpeaker(s routing.Speaker) Option { return func(l *Lab) { l.speaker = s } }

// routes are the sessions of a lab, and what is announced on them.
type routes struct {
	// speaker of the tester; nil without one.
	speaker routing.Speaker
	// open says that the sessions are, and announced which announcements of the plan
	// are, by their index.
	open      bool
	announced map[int]bool
	// unlearnt is why it is not known whether the device has installed them; nil when it
	// has.
	unlearnt error
}

// withRoutes announces what the plan has, before streams are sent to it. A method with
// routes of its own begins with open sessions on which nothing is announced.
func (l *Lab) withRoutes(ctx context.Context, d Definition) error {
	if len(l.plan.Announcements) == 0 {
		return nil
	}
	if err := l.openSessions(ctx, d.Member); err != nil {
		return err
	}
	if d.OwnRoutes {
		l.configured = nil // The streams have no routes now.
		return l.withdrawAll(ctx)
	}
	var missing []int
	for i := range l.plan.Announcements {
		if !l.announced[i] {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := l.announce(ctx, missing); err != nil {
		return err
	}
	return l.installed(ctx)
}

// openSessions opens the sessions of the bed, unless they are.
func (l *Lab) openSessions(ctx context.Context, who string) error {
	if l.speaker == nil {
		return &traffic.MissingError{Engine: string(l.plan.Engine), Cannot: "hold BGP sessions", Needs: who}
	}
	if l.open {
		return nil
	}
	var sessions []routing.Session
	for _, s := range l.plan.Sessions {
		sessions = append(sessions, s.Session)
	}
	if err := l.speaker.Open(ctx, sessions); err != nil {
		return fmt.Errorf("opening %d BGP sessions: %w", len(sessions), err)
	}
	l.open, l.announced = true, map[int]bool{}
	return nil
}

// announce announces some of the plan's announcements, in their order.
func (l *Lab) announce(ctx context.Context, which []int) error {
	return l.bySession(which, func(session string, sets []routing.Routes) error {
		if _, err := l.speaker.Announce(ctx, session, sets); err != nil {
			return fmt.Errorf("announcing routes: %w", err)
		}
		return nil
	}, true)
}

// withdrawAll takes back what is announced.
func (l *Lab) withdrawAll(ctx context.Context) error {
	var which []int
	for i := range l.plan.Announcements {
		if l.announced[i] {
			which = append(which, i)
		}
	}
	if err := l.withdraw(ctx, which); err != nil {
		return err
	}
	return l.installed(ctx)
}

// withdraw takes some of the plan's announcements back.
func (l *Lab) withdraw(ctx context.Context, which []int) error {
	return l.bySession(which, func(session string, sets []routing.Routes) error {
		if _, err := l.speaker.Withdraw(ctx, session, sets); err != nil {
			return fmt.Errorf("withdrawing routes: %w", err)
		}
		return nil
	}, false)
}

// bySession calls do with the sets of announcements that follow each other on one session.
func (l *Lab) bySession(which []int, do func(session string, sets []routing.Routes) error, announced bool) error {
	for len(which) > 0 {
		first := l.plan.Announcements[which[0]]
		n := slices.IndexFunc(which, func(i int) bool { return l.plan.Announcements[i].Session != first.Session })
		if n < 0 {
			n = len(which)
		}
		var sets []routing.Routes
		for _, i := range which[:n] {
			sets = append(sets, l.plan.Announcements[i].Routes)
		}
		if err := do(l.plan.Sessions[first.Session].Name, sets); err != nil {
			return err
		}
		for _, i := range which[:n] {
			l.announced[i] = announced
		}
		which = which[n:]
	}
	return nil
}

// installed waits until the device advertises on every session what it should of the
// announcements. A device that advertises something else, since its policy says so, is
// left to the trials.
func (l *Lab) installed(ctx context.Context) error {
	l.unlearnt = nil
	for i, s := range l.plan.Sessions {
		want := l.plan.Advertised(i, func(a int) bool { return l.announced[a] })
		waiting, cancel := context.WithTimeout(ctx, installTime+time.Duration(want.Routes)*time.Second/installRate)
		_, err := l.speaker.Await(waiting, s.Name, want)
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

// states are those of all sessions by name; nil when none is open.
func (l *Lab) states(ctx context.Context) (map[string]routing.State, error) {
	if !l.open {
		return nil, nil
	}
	all, err := l.speaker.States(ctx)
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
func (l *Lab) restoreRoutes(ctx context.Context, who string) (map[string]routing.State, error) {
	before, err := l.states(ctx)
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
	var which []int
	for i := range l.plan.Announcements {
		if l.announced[i] {
			which = append(which, i)
		}
	}
	l.open = false
	if err := l.openSessions(ctx, who); err != nil {
		return nil, err
	}
	if err := l.announce(ctx, which); err != nil {
		return nil, err
	}
	if err := l.installed(ctx); err != nil {
		return nil, err
	}
	return l.states(ctx)
}

// flapped says which sessions were down in a trial, given how they were before it. Frames
// that were lost then are not the device's loss.
func (l *Lab) flapped(ctx context.Context, before map[string]routing.State) ([]traffic.Note, error) {
	if before == nil {
		return nil, nil
	}
	after, err := l.states(ctx)
	if err != nil {
		return nil, err
	}
	var notes []traffic.Note
	for _, s := range l.plan.Sessions {
		now := after[s.Name]
		if now.Established && now.Flaps == before[s.Name].Flaps {
			continue
		}
		notes = append(notes, traffic.Note{Kind: traffic.NoteSession, Text: (&routing.DownError{Session: s.Name, Port: s.Port, Cause: now.Cause}).Error() + " during the trial"})
	}
	return notes, nil
}

// notLearnt says, for a person, that the device does not advertise what was announced;
// empty when it does.
func (l *Lab) notLearnt() string {
	if l.unlearnt == nil {
		return ""
	}
	return fmt.Sprintf("it is not known whether the device has installed all routes: %v", l.unlearnt)
}
