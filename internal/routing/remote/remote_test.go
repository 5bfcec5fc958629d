package remote_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/bgp"
	"nodrop.dev/nodrop/internal/routing/remote"
	"nodrop.dev/nodrop/internal/routing/remote/speakerpb"
	"nodrop.dev/nodrop/internal/routing/speakertest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

const uid = "0c5f"

// idle is a generator that has nothing to stop.
type idle struct{ traffic.Generator }

func (idle) Stop(context.Context) error { return nil }

// wire is an agent with a speaker, and what its runner dials it with.
type wire struct {
	t        *testing.T
	set      pki.Set
	endpoint agent.Endpoint
	kill     func()
}

func serve(t *testing.T, s routing.Speaker) *wire {
	t.Helper()
	set, err := pki.Issue(uid, 1, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, set: set}
	w.start(s, testserver.FreeAddress(t))
	return w
}

// start starts the agent, or another one in its place.
func (w *wire) start(s routing.Speaker, address string) {
	w.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := w.set.Agents[0].ServerConfig(pki.RunnerName(uid))
	if err != nil {
		w.t.Fatal(err)
	}
	o := agent.ServerOptions{Beat: 100 * time.Millisecond, Grace: 3 * time.Second, Log: slog.New(slog.DiscardHandler)}
	if s != nil {
		o.Services = []agent.Service{remote.NewServer(s)}
	}
	server := agent.NewServer(idle{}, o)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener, config) }()
	w.kill = sync.OnceFunc(func() {
		server.Close()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.kill)
	w.endpoint = agent.Endpoint{Name: pki.AgentName(uid, 0), Address: listener.Addr().String(), Ports: []string{"p"}}
}

func (w *wire) dial() *agent.Client {
	w.t.Helper()
	c, err := agent.Dial(speakertest.Within(w.t), w.endpoint, w.set.Runner, agent.ClientOptions{Grace: 3 * time.Second, ReturnTimeout: 5 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return c
}

func local(tcpPort uint16, passwords map[string]routing.Secret) *bgp.Speaker {
	return bgp.New(bgp.Options{Ports: map[string]bgp.Port{"p": {}}, TCPPort: tcpPort, Retry: 10 * time.Millisecond, Passwords: passwords})
}

// The speaker of an agent does over the wire what every speaker does, alone and joined
// with others.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, join := range map[string]func(*agent.Client) routing.Speaker{
		"remote": func(c *agent.Client) routing.Speaker { return remote.New(c.Name(), c.Conn()) },
		"joined": func(c *agent.Client) routing.Speaker {
			return routing.Join(routing.Part{Ports: c.Ports(), Speaker: remote.New(c.Name(), c.Conn())}, routing.Part{Ports: []string{"q"}, Speaker: local(1, nil)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speakertest.Conform(t, func(t *testing.T, tcpPort uint16, passwords map[string]routing.Secret) routing.Speaker {
				return join(serve(t, local(tcpPort, passwords)).dial())
			})
		})
	}
}

// The sessions end with the controller, and the next one finds none.
func TestSessionsEndWithTheController(t *testing.T) {
	t.Parallel()
	session := speakertest.Session(0)
	r := speakertest.NewRouter(t, speakertest.Peer(session))
	w := serve(t, local(r.Port, nil))
	c := w.dial()
	if err := remote.New(c.Name(), c.Conn()).Open(speakertest.Within(t), []routing.Session{session}); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, 1)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, 0)
	c = w.dial()
	if states, err := remote.New(c.Name(), c.Conn()).States(speakertest.Within(t)); err != nil || len(states) > 0 {
		t.Errorf("the next controller finds %+v, %v", states, err)
	}
}

// An agent that starts again has no sessions: they are down, with that as their cause, and
// can be opened anew.
func TestAgentStartsAgain(t *testing.T) {
	t.Parallel()
	session, another := speakertest.Session(0), speakertest.Session(1)
	r := speakertest.NewRouter(t, speakertest.Peer(session), speakertest.Peer(another))
	w := serve(t, local(r.Port, nil))
	c := w.dial()
	s := routing.Join(routing.Part{Ports: c.Ports(), Speaker: remote.New(c.Name(), c.Conn())})
	if err := s.Open(speakertest.Within(t), []routing.Session{session}); err != nil {
		t.Fatal(err)
	}
	w.kill()
	w.start(local(r.Port, nil), w.endpoint.Address)
	states, err := s.States(speakertest.Within(t))
	if err != nil || len(states) != 1 || states[0].Established || states[0].Session != "a" || states[0].Cause == "" {
		t.Errorf("states %+v, %v", states, err)
	}
	// The router lets the first one wait for seconds.
	if err := s.Open(speakertest.Within(t), []routing.Session{another}); err != nil {
		t.Errorf("opening anew: %v", err)
	}
}

// Without BGP sessions the agent returns an error with its name.
func TestAgentWithoutSpeaker(t *testing.T) {
	t.Parallel()
	c := serve(t, nil).dial()
	err := remote.New(c.Name(), c.Conn()).Open(speakertest.Within(t), []routing.Session{speakertest.Session(0)})
	if !errors.Is(err, traffic.ErrUnsupported) || !strings.Contains(err.Error(), c.Name()) {
		t.Errorf("got %v", err)
	}
}

// A million routes are a message of less than 200 bytes, and no password is in any.
func TestMessagesAreSmall(t *testing.T) {
	t.Parallel()
	var request speakerpb.SetsRequest
	var open speakerpb.OpenRequest
	sink := recorder{sets: &request, open: &open}
	set := speakertest.Set("198.18.0.0/32", 1_000_000)
	_, _ = remote.New("x", sink).Announce(t.Context(), "a", []routing.Routes{set})
	if n := proto.Size(&request); n == 0 || n > 200 {
		t.Errorf("a million routes take %d bytes: %v", n, &request)
	}
	session := speakertest.Session(0)
	session.Password = "swordfish"
	_ = remote.New("x", sink).Open(t.Context(), []routing.Session{session})
	if text := open.String(); len(open.GetSessions()) != 1 || strings.Contains(text, "swordfish") {
		t.Errorf("the request to open is %s", text)
	}
}
