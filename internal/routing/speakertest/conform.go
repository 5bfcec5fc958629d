package speakertest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/testkit/freeport"
)

// Make makes a speaker whose port p is in the namespace of the test, whose device listens on
// a TCP port, and which has the passwords of sessions. It ends with the test.
type Make func(t *testing.T, tcpPort uint16, passwords map[string]routing.Secret) routing.Speaker

// Conform tests what every speaker has to do with a device.
func Conform(t *testing.T, make Make) {
	for name, test := range map[string]func(*testing.T, Make){
		"routes are announced, learnt and withdrawn": exchanges,
		"errors keep their types":                    fails,
		"waiting ends with the context":              ends,
		"passwords come from the speaker":            authenticates,
		"sessions go down, come back and are closed": flaps,
		"routes come again when they are asked for":  refreshes,
		"many sessions and sets":                     counts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make)
		})
	}
}

// open opens sessions with one router.
func open(t *testing.T, make Make, sessions ...routing.Session) (*Router, routing.Speaker) {
	t.Helper()
	peers := []*api.Peer{}
	for _, s := range sessions {
		peers = append(peers, Peer(s))
	}
	r := NewRouter(t, peers...)
	s := make(t, r.Port, nil)
	if err := s.Open(Within(t), sessions); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, len(sessions))
	return r, s
}

func await(t *testing.T, s routing.Speaker, session string, want routing.Table) routing.Learnt {
	t.Helper()
	learnt, err := s.Await(Within(t), session, want)
	if err != nil {
		t.Fatal(err)
	}
	if learnt.Table != want {
		t.Fatalf("Await returns %+v, want %+v", learnt.Table, want)
	}
	return learnt
}

func exchanges(t *testing.T, make Make) {
	_, s := open(t, make, Session(0), Session(1))
	four, six := Set("198.18.0.0/24", 5000), Set("2001:2::/48", 3000)
	four.Stride, four.Attributes.MED = 2, new(uint32)
	sent, err := s.Announce(Within(t), "a", []routing.Routes{four, six})
	if err != nil || sent.Routes != 8000 || sent.Messages < 8 || sent.Bytes == 0 || sent.First == 0 || sent.Last < sent.First || sent.Own <= 0 {
		t.Errorf("announced: %+v, %v", sent, err)
	}
	all := routing.Readvertised(65000, 65001, []routing.Routes{four, six})
	learnt := await(t, s, "b", all)
	if learnt.Last < sent.First || learnt.Updates < 8000 {
		t.Errorf("learnt: %+v", learnt)
	}
	if now, err := s.Learnt(Within(t), "b"); err != nil || now.Table != all {
		t.Errorf("learnt now: %+v, %v", now, err)
	}
	if sent, err := s.Withdraw(Within(t), "a", []routing.Routes{six}); err != nil || sent.Routes != 3000 {
		t.Errorf("withdrawn: %+v, %v", sent, err)
	}
	if rest := await(t, s, "b", routing.Readvertised(65000, 65001, []routing.Routes{four})); rest.Withdrawn != 3000 {
		t.Errorf("learnt of the withdrawal: %+v", rest)
	}
}

func refreshes(t *testing.T, make Make) {
	_, s := open(t, make, Session(0), Session(1))
	four, six := Set("198.18.0.0/24", 5000), Set("2001:2::/48", 3000)
	if _, err := s.Announce(Within(t), "a", []routing.Routes{four, six}); err != nil {
		t.Fatal(err)
	}
	want := routing.Readvertised(65000, 65001, []routing.Routes{four, six})
	before := await(t, s, "b", want)
	for range 2 {
		got, err := s.Refresh(Within(t), "b")
		if err != nil || got.Table != want || got.Asked < before.Last || got.Last < got.Asked {
			t.Errorf("asked for all routes again after %d: %+v, %v", before.Last, got, err)
		}
	}
	if now, err := s.Learnt(Within(t), "b"); err != nil || now.Table != want || now.Updates < 3*8000 {
		t.Errorf("learnt now: %+v, %v", now, err)
	}
	if got, err := s.Refresh(Within(t), "a"); err != nil || got.Table != (routing.Table{}) {
		t.Errorf("no routes: %+v, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Refresh(ended, "b"); err == nil {
		t.Error("a request whose context has ended succeeds")
	}
}

func fails(t *testing.T, make Make) {
	r, s := open(t, make, Session(0))
	for what, try := range map[string]func() error{
		"announcing": func() error { _, err := s.Announce(Within(t), "x", nil); return err },
		"learnt":     func() error { _, err := s.Learnt(Within(t), "x"); return err },
		"refreshing": func() error { _, err := s.Refresh(Within(t), "x"); return err },
		"awaiting":   func() error { _, err := s.Await(Within(t), "x", routing.Table{}); return err },
	} {
		if err := try(); err == nil || err.Error() != `no session "x" is open` {
			t.Errorf("%s on an unknown session: %v", what, err)
		}
	}
	odd := Set("198.18.0.0/24", 0)
	if _, err := s.Announce(Within(t), "a", []routing.Routes{odd}); err == nil || err.Error() != odd.Check().Error() {
		t.Errorf("announcing no routes: %v, want %v", err, odd.Check())
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	want := routing.Table{Routes: 12, Digest: 1<<64 - 1}
	_, err := s.Await(short, "a", want)
	var unlearned *routing.UnlearnedError
	if !errors.As(err, &unlearned) || *unlearned != (routing.UnlearnedError{Session: "a", Want: want}) || err.Error() != "BGP session a has learnt 0 of 12 routes" {
		t.Errorf("awaiting what does not come: %#v", err)
	}

	// The router lets a peer whose session has ended wait for seconds; this one is new.
	foreign := Session(1)
	if err := r.AddPeer(t.Context(), &api.AddPeerRequest{Peer: Peer(foreign)}); err != nil {
		t.Fatal(err)
	}
	foreign.RemoteASN = 64999
	var down *routing.DownError
	err = s.Open(Within(t), []routing.Session{foreign})
	if !errors.As(err, &down) || !down.Final || down.Session != "b" || down.Port != "p" || down.Cause == "" || err.Error() != down.Error() {
		t.Errorf("another AS number: %#v", err)
	}
	if _, err := s.Announce(Within(t), "b", []routing.Routes{Set("198.18.0.0/24", 1)}); !errors.As(err, &down) || down.Session != "b" {
		t.Errorf("announcing on a session that is down: %v", err)
	}
	if states, err := s.States(Within(t)); err != nil || len(states) != 1 || states[0].Established || states[0].Cause != down.Cause {
		t.Errorf("states %+v, %v; the cause is %q", states, err, down.Cause)
	}
}

// ends has every wait end by its context, canceled or over, with what is known then.
func ends(t *testing.T, make Make) {
	s := make(t, uint16(freeport.Get(t)), nil) // nothing listens
	for name, limit := range map[string]func() (context.Context, context.CancelFunc){
		"deadline": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		},
		"cancelled": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := limit()
		var down *routing.DownError
		if err := s.Open(ctx, []routing.Session{Session(0)}); !errors.As(err, &down) || down.Session != "a" || down.Final {
			t.Errorf("%s: opening ends with %v", name, err)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var down *routing.DownError
	if _, err := s.Await(ctx, "a", routing.Table{Routes: 1}); !errors.As(err, &down) {
		t.Errorf("awaiting routes of a session that is down ends with %v", err)
	}
}

func authenticates(t *testing.T, make Make) {
	session := Session(0)
	session.Password = "swordfish"
	r := NewRouter(t, Peer(session))
	session.Password = ""
	s := make(t, r.Port, map[string]routing.Secret{"a": "swordfish"})
	if err := s.Open(Within(t), []routing.Session{session}); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, 1)
}

func flaps(t *testing.T, make Make) {
	r, s := open(t, make, Session(0), Session(1))
	set := Set("198.18.0.0/24", 100)
	if _, err := s.Announce(Within(t), "a", []routing.Routes{set}); err != nil {
		t.Fatal(err)
	}
	want := routing.Readvertised(65000, 65001, []routing.Routes{set})
	await(t, s, "b", want)
	if err := r.ResetPeer(t.Context(), &api.ResetPeerRequest{Address: Session(0).Local.String()}); err != nil {
		t.Fatal(err)
	}
	state := awaitState(t, s, "a", func(s routing.State) bool { return s.Established && s.Flaps == 1 })
	if state.Cause == "" || state.Since == 0 {
		t.Errorf("after a reset: %+v", state)
	}
	await(t, s, "b", want)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, 0)
	if states, err := s.States(Within(t)); err != nil || len(states) > 0 {
		t.Errorf("after Close: %+v, %v", states, err)
	}
}

// counts has more sessions and sets than one message of the wire takes.
func counts(t *testing.T, make Make) {
	_, s := open(t, make, Session(0), Session(1))
	var sets []routing.Routes
	for i := range uint32(1200) {
		set := Set("198.18.0.0/32", 1)
		set.First = routing.Routes{First: set.First}.Prefix(i)
		sets = append(sets, set)
	}
	if sent, err := s.Announce(Within(t), "a", sets); err != nil || sent.Routes != 1200 {
		t.Fatalf("%+v, %v", sent, err)
	}
	await(t, s, "b", routing.Readvertised(65000, 65001, sets))

	many := []routing.Session{}
	for i := range 1200 {
		session := Session(0)
		session.Name, session.Port = session.Name+string(rune('a'+i%26))+string(rune('a'+i/26)), "nowhere"
		many = append(many, session)
	}
	want := `session ` + many[0].Name + `: port: there is no port "nowhere" here`
	if err := s.Open(Within(t), many); err == nil || err.Error() != want {
		t.Errorf("opening 1200 sessions on no port: %v", err)
	}
}

func awaitState(t *testing.T, s routing.Speaker, session string, is func(routing.State) bool) routing.State {
	t.Helper()
	for ctx := Within(t); ; {
		states, err := s.States(ctx)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(states, func(s routing.State) bool { return s.Session == session })
		if i >= 0 && is(states[i]) {
			return states[i]
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the states stay %+v", states)
		case <-time.After(time.Millisecond):
		}
	}
}
