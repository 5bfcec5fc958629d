package bgp

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"

	"nodrop.dev/nodrop/internal/routing"
)

func TestRouterReadvertisesWhatIsAnnounced(t *testing.T) {
	t.Parallel()
	_, s := opened(t, tester(0), tester(1))
	four, six := set("198.18.0.0/24", 5000), set("2001:2::/48", 3000)
	med := uint32(7)
	four.Attributes.MED = &med
	sent := announce(t, s, "a", four, six)
	if sent.Routes != 8000 || sent.Messages < 8 || sent.Messages > 12 || sent.First == 0 || sent.Last < sent.First || sent.Own <= 0 {
		t.Errorf("sent %+v; 8000 routes fit into 8 to 12 messages", sent)
	}
	all := routing.Readvertised(65000, 65001, []routing.Routes{four, six})
	learnt := awaitTable(t, s, "b", all)
	if learnt.Last < sent.First || learnt.Updates < 8000 {
		t.Errorf("learnt %+v", learnt)
	}

	part := four
	part.First, part.Count = four.Prefix(1000), 1000
	withdraw(t, s, "a", part)
	rest := routing.Table{Routes: all.Routes, Digest: all.Digest}
	gone := routing.Readvertised(65000, 65001, []routing.Routes{part})
	rest.Routes, rest.Digest = rest.Routes-gone.Routes, rest.Digest-gone.Digest
	awaitTable(t, s, "b", rest)

	part.Attributes.Communities = nil // replaces, and comes back
	four.Attributes.ASPath = []uint32{64999}
	announce(t, s, "a", four, part)
	withdraw(t, s, "a", part)
	first, last := four, four
	first.Count = 1000
	last.First, last.Count = four.Prefix(2000), 3000
	awaitTable(t, s, "b", routing.Readvertised(65000, 65001, []routing.Routes{first, last, six}))
	withdraw(t, s, "a", four, six)
	awaitTable(t, s, "b", routing.Table{})
}

func TestSessionComesBackWithItsRoutes(t *testing.T) {
	t.Parallel()
	a, b := tester(0), tester(1)
	r, s := opened(t, a, b)
	four := set("198.18.0.0/24", 1000)
	hole := four
	hole.Count = 10
	announce(t, s, "a", four)
	withdraw(t, s, "a", hole)
	rest := four
	rest.First, rest.Count = four.Prefix(10), 990
	want := routing.Readvertised(65000, 65001, []routing.Routes{rest})
	awaitTable(t, s, "b", want)
	if err := r.ResetPeer(t.Context(), &api.ResetPeerRequest{Address: a.Local.String()}); err != nil {
		t.Fatal(err)
	}
	awaitState(t, s, "a", func(s routing.State) bool { return s.Flaps == 1 && s.Established })
	awaitTable(t, s, "b", want)
}

func TestFamiliesAndPaths(t *testing.T) {
	t.Parallel()
	a, b := tester(0), tester(1)
	for _, s := range []*routing.Session{&a, &b} {
		s.AddPath = true
		s.Families = []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast, routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast}
	}
	_, s := opened(t, a, b)
	one, two := set("198.18.0.0/24", 500), set("198.18.0.0/24", 500)
	one.Attributes.PathID, two.Attributes.PathID = 1, 2
	two.Attributes.ASPath = []uint32{64513, 64514, 64515}
	four, six := set("198.19.0.0/24", 256), set("2001:2::/64", 700)
	four.Attributes.Label, six.Attributes.Label = 1000, 2000
	sets := []routing.Routes{one, two, four, six}
	announce(t, s, "a", sets...)
	awaitTable(t, s, "b", routing.Readvertised(65000, 65001, sets))
	withdraw(t, s, "a", two, six)
	awaitTable(t, s, "b", routing.Readvertised(65000, 65001, []routing.Routes{one, four}))
}

func TestManySessions(t *testing.T) {
	t.Parallel()
	var sessions []routing.Session
	for i := range byte(50) {
		sessions = append(sessions, tester(i))
	}
	_, s := opened(t, sessions...)
	states, err := s.States(t.Context())
	if err != nil || len(states) != 50 {
		t.Fatal(len(states), err)
	}
	for i, state := range states {
		if !state.Established || state.Session != sessions[i].Name || state.Since == 0 {
			t.Errorf("%+v", state)
		}
	}
}

func TestOpenRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*routing.Session){
		`session a: port: there is no port "q" here`:                                                              func(s *routing.Session) { s.Port = "q" },
		"session a: addresses: 127.0.0.10 and ::1 must be given and of one IP version":                            func(s *routing.Session) { s.Remote = netip.IPv6Loopback() },
		"session a: asn: 0 and 65000, must be 1 to 4294967295":                                                    func(s *routing.Session) { s.LocalASN = 0 },
		"session a: holdTime: 2s, must be 0 or 3s to 65535s":                                                      func(s *routing.Session) { s.HoldTime = 2 * time.Second },
		"session a: routerID: ::1, must be an IPv4 address":                                                       func(s *routing.Session) { s.RouterID = netip.IPv6Loopback() },
		"session a: bfd: 0s x 0, must be 10ms to 1m x 1 to 255":                                                   func(s *routing.Session) { s.BFD = &routing.BFD{} },
		"session a: families: evpn; allowed are ipv4Unicast, ipv6Unicast, ipv4LabeledUnicast, ipv6LabeledUnicast": func(s *routing.Session) { s.Families = []routing.Family{"evpn"} },
	} {
		session := tester(0)
		change(&session)
		if err := newSpeaker(t, 1).Open(t.Context(), []routing.Session{session}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestAwaitSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, s := opened(t, tester(0), tester(1))
	announce(t, s, "a", set("198.18.0.0/24", 10))
	awaitTable(t, s, "b", routing.Readvertised(65000, 65001, []routing.Routes{set("198.18.0.0/24", 10)}))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Await(ended, "b", routing.Table{Routes: 12})
	if want := "BGP session b has learnt 10 of 12 routes"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	var unlearned *routing.UnlearnedError
	if _, err := s.Await(ended, "b", routing.Table{Routes: 10}); !errors.As(err, &unlearned) || unlearned.Got.Routes != 10 {
		t.Errorf("another digest: %v", err)
	}
}

func awaitState(t *testing.T, s *Speaker, name string, is func(routing.State) bool) routing.State {
	t.Helper()
	ctx := within(t)
	for {
		one, err := s.Named(name)
		if err != nil { // not open yet
			select {
			case <-ctx.Done():
				t.Fatal(err)
			case <-time.After(time.Millisecond):
				continue
			}
		}
		one.Lock()
		state, changed := one.State, one.Changed()
		one.Unlock()
		if is(state) {
			return state
		}
		select {
		case <-ctx.Done():
			t.Fatalf("session %s stays %+v", name, state)
		case <-changed:
		}
	}
}
