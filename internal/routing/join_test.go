package routing

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// fakeSpeaker is a fake that keeps its sessions, and says nothing when it is silent.
type fakeSpeaker struct {
	Speaker
	open   []Session
	silent error
}

func (f *fakeSpeaker) Open(_ context.Context, sessions []Session) error {
	f.open = sessions
	return nil
}

func (f *fakeSpeaker) States(context.Context) ([]State, error) {
	var states []State
	for _, s := range f.open {
		states = append(states, State{Session: s.Name, Established: true, Since: 1})
	}
	return states, f.silent
}

// Every part opens the sessions on its ports, and states are in the order of the sessions.
func TestJoin(t *testing.T) {
	t.Parallel()
	a, b := &fakeSpeaker{}, &fakeSpeaker{}
	s := Join(Part{Ports: []string{"p1", "p3"}, Speaker: a}, Part{Ports: []string{"p2"}, Speaker: b})
	sessions := []Session{{Name: "x", Port: "p1"}, {Name: "y", Port: "p2"}, {Name: "z", Port: "p3"}}
	if err := s.Open(t.Context(), sessions); err != nil {
		t.Fatal(err)
	}
	if len(a.open) != 2 || a.open[1].Name != "z" || len(b.open) != 1 || b.open[0].Name != "y" {
		t.Errorf("opened %+v and %+v", a.open, b.open)
	}
	up := func(name string) State { return State{Session: name, Established: true, Since: 1} }
	states := func(want ...State) {
		t.Helper()
		if got, err := s.States(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("states %+v, %v; want %+v", got, err, want)
		}
	}
	states(up("x"), up("y"), up("z"))
	b.silent = errors.New("no answer")
	states(up("x"), State{Session: "y", Cause: "no answer"}, up("z"))
	b.silent, a.open = nil, nil
	states(State{Session: "x", Cause: forgotten}, up("y"), State{Session: "z", Cause: forgotten})

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.States(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
	for want, wrong := range map[string][]Session{
		`session x: port: there is no port "p9" here`:          {{Name: "x", Port: "p9"}},
		`session x: name: there are two sessions of this name`: {{Name: "x", Port: "p1"}, {Name: "x", Port: "p2"}},
	} {
		if err := s.Open(t.Context(), wrong); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := s.Learnt(t.Context(), "q"); err == nil || err.Error() != `no session "q" is open` {
		t.Errorf("an unknown session: %v", err)
	}
}
