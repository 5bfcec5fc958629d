package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/workload"
	"nodrop.dev/nodrop/internal/workload/remote"
)

// Real hosts run in a traffic pod in TestIncast of e2e. Here an engine without hosts stands on the other side of a real agent.

// fakeEngine answers what it is given.
type fakeEngine struct {
	answer workload.Incast
	err    error
	asked  workload.IncastRequest

	collective      workload.Collective
	askedCollective workload.CollectiveRequest

	calls   atomic.Int32
	closed  atomic.Int32
	entered chan struct{}
}

func (e *fakeEngine) Incast(ctx context.Context, request workload.IncastRequest) (workload.Incast, error) {
	e.asked = request
	e.calls.Add(1)
	if e.entered != nil {
		close(e.entered)
		<-ctx.Done()
		return workload.Incast{}, ctx.Err()
	}
	return e.answer, e.err
}

func (e *fakeEngine) ConnectIncast(_ context.Context, request workload.IncastRequest) error {
	e.asked = request
	return e.err
}

func (e *fakeEngine) DisconnectIncast(context.Context) (workload.Segments, error) {
	return workload.Segments{Sent: 7, Received: 5}, e.err
}

func (e *fakeEngine) Connections(context.Context, workload.ConnectionsRequest) (workload.Connections, error) {
	return workload.Connections{}, e.err
}

func (e *fakeEngine) RPC(context.Context, workload.RPCRequest) (workload.RPC, error) {
	return workload.RPC{}, e.err
}

func (e *fakeEngine) Collective(_ context.Context, request workload.CollectiveRequest) (workload.Collective, error) {
	e.askedCollective = request
	return e.collective, e.err
}

func (e *fakeEngine) Bulk(_ context.Context, r workload.BulkRequest) (workload.Bulk, error) {
	return workload.Bulk{Took: r.Duration, Connections: []workload.BulkConnection{{Sent: r.Bytes, Received: 1, Problem: r.Sender}}}, e.err
}

func (e *fakeEngine) Messages(_ context.Context, r workload.MessagesRequest) (workload.Messages, error) {
	return workload.Messages{Unreached: r.FirstGroup.String(), Subscribers: []workload.Subscriber{{Address: "198.18.0.1", LostByGroup: []int64{0, 7}, SocketDrops: 1 << 62, P50: 3}}}, e.err
}

func (e *fakeEngine) Close() error {
	e.closed.Add(1)
	return nil
}

// idle is a generator that has nothing to stop.
type idle struct{ traffic.Generator }

func (idle) Stop(context.Context) error { return nil }

const uid = "0c5f"

// serve starts an agent with an engine, and returns its runner and what ends the agent.
func serve(t *testing.T, open func() (workload.Engine, error)) (*agent.Client, func()) {
	t.Helper()
	set, err := pki.Issue(uid, 1, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := set.Agents[0].ServerConfig(pki.RunnerName(uid))
	if err != nil {
		t.Fatal(err)
	}
	server := agent.NewServer(idle{}, agent.ServerOptions{Beat: 100 * time.Millisecond, Grace: 3 * time.Second, Services: []agent.Service{remote.NewServer(open)}})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener, config) }()
	end := sync.OnceFunc(func() {
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	endpoint := agent.Endpoint{Name: pki.AgentName(uid, 0), Address: listener.Addr().String(), Ports: []string{"p"}}
	client, err := agent.Dial(t.Context(), endpoint, set.Runner, agent.ClientOptions{Grace: 3 * time.Second, ReturnTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, end
}

func opened(e workload.Engine) func() (workload.Engine, error) {
	return func() (workload.Engine, error) { return e, nil }
}

// TestIncast carries everything of a request and of an answer, over one engine for all calls, and closes it with the session.
func TestIncast(t *testing.T) {
	t.Parallel()
	drops := uint64(7)
	request := workload.IncastRequest{Client: "p1", Servers: []string{"p2", "p3"}, Blocks: []int64{3, 2}, Iterations: 4, MTU: 1500, CongestionControl: "reno"}
	engine := &fakeEngine{answer: workload.Incast{
		Completions: []time.Duration{time.Second, 1}, Skews: []time.Duration{2, 3},
		Connections:   []workload.Connection{{Retransmissions: 1, Timeouts: 2, Busy: 3, WindowLimited: 4}},
		Settings:      workload.Settings{CongestionControl: "reno", MTU: 1500, Offloads: []string{"tx-gso"}, SendBuffer: 5, ReceiveBuffer: 6},
		ReceivedBytes: 1 << 62, ReceivedPackets: 9, DeviceDrops: &drops, Limits: workload.Limits{BusyPPM: 10, SoftnetDrops: 11},
	}}
	client, end := serve(t, opened(engine))
	far := remote.New(client.Name(), client.Conn())
	for range 2 {
		got, err := far.Incast(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, engine.answer) {
			t.Errorf("got %+v, want %+v", got, engine.answer)
		}
	}
	if !reflect.DeepEqual(engine.asked, request) {
		t.Errorf("asked for %+v, want %+v", engine.asked, request)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	end()
	if engine.calls.Load() != 2 || engine.closed.Load() != 1 {
		t.Errorf("%d calls, closed %d times", engine.calls.Load(), engine.closed.Load())
	}
}

// TestConnectedIncast carries the request with its frames, and the segments.
func TestConnectedIncast(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{}
	client, _ := serve(t, opened(engine))
	far := remote.New(client.Name(), client.Conn())
	request := workload.IncastRequest{Client: "p1", Servers: []string{"p2"}, Blocks: []int64{3}, Iterations: 4, MTU: 1500, Stateless: &workload.StatelessFrames{Bytes: 64, PerSecond: 5}}
	if err := far.ConnectIncast(t.Context(), request); err != nil || !reflect.DeepEqual(engine.asked, request) {
		t.Errorf("asked for %+v, %v, want %+v", engine.asked, err, request)
	}
	if found, err := far.DisconnectIncast(t.Context()); err != nil || found.Lost() != 2 {
		t.Errorf("%+v, %v", found, err)
	}
	engine.err = errors.New("port p2 is not known")
	if err := far.ConnectIncast(t.Context(), request); err == nil || !strings.Contains(err.Error(), "port p2 is not known") {
		t.Errorf("a failure: %v", err)
	}
}

// TestCollective carries everything of the largest request and of its answer.
func TestCollective(t *testing.T) {
	t.Parallel()
	request := workload.CollectiveRequest{Algorithm: workload.AllToAll, Ports: []string{"p1", "p2"}, Hosts: 64, Bytes: 512, Repetitions: 1000, WarmUp: 2, MTU: 1500, CongestionControl: "reno"}
	engine := &fakeEngine{collective: workload.Collective{
		Probes: &workload.Probes{Into: 1, OutOf: 2, Reference: 3}, Wrong: 4, Example: "host 1", Retransmissions: 5,
		Settings: workload.Settings{CongestionControl: "reno", MTU: 1500}, Limits: workload.Limits{BusyPPM: 6},
	}}
	for range request.Repetitions {
		engine.collective.Completions = append(engine.collective.Completions, 1_234_567_890_123)
	}
	for range request.Steps() {
		engine.collective.Steps = append(engine.collective.Steps, engine.collective.Completions)
	}
	for _, one := range request.Schedule() {
		engine.collective.Links = append(engine.collective.Links, workload.Link{From: one.From, To: one.To, Time: 1_234_567_890_123, Retransmissions: 7})
	}
	client, _ := serve(t, opened(engine))
	got, err := remote.New(client.Name(), client.Conn()).Collective(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, engine.collective) || !reflect.DeepEqual(engine.askedCollective, request) {
		t.Errorf("asked for %+v, and got %+v", engine.askedCollective, got.Probes)
	}
}

// TestBulk carries a data set of more bytes than 32 bits hold, and its time.
func TestBulk(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, opened(&fakeEngine{}))
	request := workload.BulkRequest{Sender: "p1", Bytes: 1 << 40, Duration: time.Hour}
	want := workload.Bulk{Took: time.Hour, Connections: []workload.BulkConnection{{Sent: 1 << 40, Received: 1, Problem: "p1"}}}
	got, err := remote.New(client.Name(), client.Conn()).Bulk(t.Context(), request)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestMessages carries the request of messages, and the counts of subscribers.
func TestMessages(t *testing.T) {
	t.Parallel()
	client, _ := serve(t, opened(&fakeEngine{}))
	got, err := remote.New(client.Name(), client.Conn()).Messages(t.Context(), workload.MessagesRequest{FirstGroup: netip.MustParseAddr("225.1.1.1")})
	want := workload.Messages{Unreached: "225.1.1.1", Subscribers: []workload.Subscriber{{Address: "198.18.0.1", LostByGroup: []int64{0, 7}, SocketDrops: 1 << 62, P50: 3}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLongAnswer carries the answer with the maximum number of iterations.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{}
	for range 100_000 {
		engine.answer.Completions = append(engine.answer.Completions, 1_234_567_890_123)
		engine.answer.Skews = append(engine.answer.Skews, 1_234_567_890_123)
	}
	client, _ := serve(t, opened(engine))
	got, err := remote.New(client.Name(), client.Conn()).Incast(t.Context(), workload.IncastRequest{})
	if err != nil || len(got.Completions) != 100_000 {
		t.Errorf("%d iterations, %v", len(got.Completions), err)
	}
}

// TestErrors names the agent, and has the words of the engine.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (workload.Engine, error){
		"the call":    opened(&fakeEngine{err: errors.New("no such congestion control")}),
		"the opening": func() (workload.Engine, error) { return nil, errors.New("no such congestion control") },
	} {
		client, _ := serve(t, open)
		_, err := remote.New(client.Name(), client.Conn()).Incast(t.Context(), workload.IncastRequest{})
		if err == nil || !strings.Contains(err.Error(), "agent "+client.Name()+": no such congestion control") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKindsOfErrors: a method runs an interrupted workload again, and does not run one again that the engine does not do.
func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{traffic.ErrInterrupted, traffic.ErrUnsupported} {
		client, _ := serve(t, opened(&fakeEngine{err: fmt.Errorf("%w: the server was lost", kind)}))
		_, err := remote.New(client.Name(), client.Conn()).Incast(t.Context(), workload.IncastRequest{})
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), "the server was lost") {
			t.Errorf("%v, want %v", err, kind)
		}
	}
}

// TestAgentEndsInACall is an interruption: the caller may try again.
func TestAgentEndsInACall(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{entered: make(chan struct{})}
	client, end := serve(t, opened(engine))
	go func() {
		<-engine.entered
		end()
	}()
	_, err := remote.New(client.Name(), client.Conn()).Incast(t.Context(), workload.IncastRequest{})
	if !errors.Is(err, traffic.ErrInterrupted) {
		t.Errorf("%v", err)
	}
}

// TestCanceled ends a call with the context of the runner, also at the agent.
func TestCanceled(t *testing.T) {
	t.Parallel()
	engine := &fakeEngine{entered: make(chan struct{})}
	client, end := serve(t, opened(engine))
	reason := errors.New("the benchmark was canceled")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-engine.entered
		cancel(reason)
	}()
	if _, err := remote.New(client.Name(), client.Conn()).Incast(ctx, workload.IncastRequest{}); !errors.Is(err, reason) {
		t.Errorf("%v, want %v", err, reason)
	}
	_ = client.Close()
	end()
	if engine.closed.Load() != 1 {
		t.Errorf("the engine was closed %d times", engine.closed.Load())
	}
}
