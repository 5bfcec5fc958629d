package trex

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/fakeastf"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// astfHostsForTest are hosts behind a router.
var astfHostsForTest = []workload.Port{
	{Name: "p1", Address: netip.MustParsePrefix("198.18.1.2/24"), Gateway: netip.MustParseAddr("198.18.1.1")},
	{Name: "p2", Address: netip.MustParsePrefix("198.18.2.2/24"), Gateway: netip.MustParseAddr("198.18.2.1")},
}

func astfOptionsForTest(endpoint string) Options {
	o := Options{Endpoint: endpoint}
	for i, h := range astfHostsForTest {
		o.Ports = append(o.Ports, Port{Name: h.Name, Index: i, Addresses: []netip.Prefix{h.Address}})
	}
	return o
}

func serveFakeASTF(t *testing.T, b fakeastf.Behavior) *fakeastf.Server {
	t.Helper()
	f, err := fakeastf.Serve("tcp://127.0.0.1:0", b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Down)
	return f
}

// openFakeASTF opens the engine on a fake. Nothing may be left there, and no request may be wrong.
func openFakeASTF(t *testing.T, b fakeastf.Behavior) (*fakeastf.Server, *ASTF) {
	t.Helper()
	f := serveFakeASTF(t, b)
	e, err := NewASTF(t.Context(), astfOptionsForTest(f.Endpoint), astfHostsForTest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Change(func(b *fakeastf.Behavior) { b.Refused = nil })
		if err := e.Close(); err != nil && !errors.Is(err, traffic.ErrInterrupted) {
			t.Errorf("closing: %v", err)
		}
		if left := f.Left(); len(left) > 0 {
			t.Errorf("left at the server: %q", left)
		}
		if _, problems := f.Calls(); len(problems) > 0 {
			t.Errorf("wrong requests: %q", problems)
		}
	})
	return f, e
}

func connectionsRequest(n int, rate float64) workload.ConnectionsRequest {
	return workload.ConnectionsRequest{Client: "p1", Server: "p2", Clients: 1, Servers: 1, Connections: n, OpenRate: rate, CloseRate: rate, Timeout: 2 * time.Second, MTU: 1500}
}

func TestASTFConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behavior fakeastf.Behavior
		holds    func(c workload.Connections, r workload.ConnectionsRequest) bool
	}{
		"all pass": {fakeastf.Behavior{}, func(c workload.Connections, r workload.ConnectionsRequest) bool {
			return c.Attempted == 600 && c.Established == 600 && c.Verified == 600 && c.Closed == 600 && c.OpenRetransmissions == 0 &&
				c.Late(r) == "" && c.Doubt() == "" && len(c.Examples) == 0 && len(c.Differences(r)) == 0
		}},
		"the device passes a third": {fakeastf.Behavior{DeviceConnections: 200}, func(c workload.Connections, r workload.ConnectionsRequest) bool {
			return c.Attempted == 600 && c.Established == 200 && c.Verified == 200 && c.TimedOut == 400 && c.Refused == 0 && c.OpenRetransmissions == 400 &&
				c.Late(r) == "" && c.Doubt() == "" && strings.Contains(strings.Join(c.Examples, "; "), "TRex's client counted 400 in tcps_conndrops (embryonic connections dropped)")
		}},
		"the server opens fewer": {fakeastf.Behavior{OwnConnections: 400}, func(c workload.Connections, r workload.ConnectionsRequest) bool {
			return c.Verified == 600 && strings.Contains(c.Late(r), "connections per second, and 600 were asked for")
		}},
		"the server was throttled": {fakeastf.Behavior{Throttled: 7}, func(c workload.Connections, _ workload.ConnectionsRequest) bool {
			return c.ServerDrops == 7 && c.Doubt() != ""
		}},
		"busy processors": {fakeastf.Behavior{CPU: 99}, func(c workload.Connections, _ workload.ConnectionsRequest) bool {
			return c.Limits.BusyPPM == 990_000 && strings.Contains(c.Doubt(), "busy for 99 %")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := openFakeASTF(t, tc.behavior)
			r := connectionsRequest(600, 600)
			c, err := e.Workload().Connections(t.Context(), r)
			if err != nil || !tc.holds(c, r) {
				t.Errorf("%+v, %q, %q, %v", c, c.Late(r), c.Doubt(), err)
			}
		})
	}
}

func TestASTFBulk(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behavior fakeastf.Behavior
		request  workload.BulkRequest
		problem  string
	}{
		"of the client":          {fakeastf.Behavior{}, workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 5_000_000}, ""},
		"of the server":          {fakeastf.Behavior{}, workload.BulkRequest{Sender: "p2", Receiver: "p1", Bytes: 5_000_000, CongestionControl: "cubic"}, ""},
		"less than a part":       {fakeastf.Behavior{}, workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 1000}, ""},
		"parts without a rest":   {fakeastf.Behavior{}, workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 3 * astfPart}, ""},
		"of a lost connection":   {fakeastf.Behavior{Broken: true}, workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 5_000_000}, "connection 1 was lost: 2500000 of "},
		"of a connection slower": {fakeastf.Behavior{BitsPerSecond: 20e6}, workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 1_000_000}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := openFakeASTF(t, tc.behavior)
			tc.request.Connections, tc.request.MTU = 1, 1500
			b, err := e.Workload().Bulk(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			c := b.Connections[0]
			if tc.problem != "" {
				if !strings.Contains(c.Problem, tc.problem) {
					t.Errorf("%+v, want %q", b, tc.problem)
				}
				return
			}
			rate := 100e6
			if tc.behavior.BitsPerSecond > 0 {
				rate = tc.behavior.BitsPerSecond
			}
			want := float64(tc.request.Bytes) * 8 / rate
			if c.Sent != tc.request.Bytes || c.Received != tc.request.Bytes || c.Problem != "" || b.Took.Seconds() < want*0.999 || b.Took.Seconds() > want*1.001 ||
				len(tc.request.Differences(b.Settings)) > 0 || tc.request.CongestionControl != "" && b.Settings.CongestionControl != tc.request.CongestionControl {
				t.Errorf("%+v, want %v s", b, want)
			}
		})
	}
}

// What the server does not count is refused, and nothing is sent to it.
func TestASTFRefuses(t *testing.T) {
	t.Parallel()
	f, e := openFakeASTF(t, fakeastf.Behavior{})
	f.Calls()
	h := e.Workload()
	ctx := t.Context()
	call := func(change func(*workload.ConnectionsRequest)) error {
		r := connectionsRequest(10, 100)
		change(&r)
		_, err := h.Connections(ctx, r)
		return err
	}
	move := func(change func(*workload.BulkRequest)) error {
		r := workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 1000, Connections: 1, MTU: 1500}
		change(&r)
		_, err := h.Bulk(ctx, r)
		return err
	}
	_, incast := h.Incast(ctx, workload.IncastRequest{})
	_, ended := h.DisconnectIncast(ctx)
	_, rpc := h.RPC(ctx, workload.RPCRequest{})
	_, collective := h.Collective(ctx, workload.CollectiveRequest{})
	_, messages := h.Messages(ctx, workload.MessagesRequest{})
	_, read := e.Read(ctx)
	for name, err := range map[string]error{
		"incast": incast, "connecting an incast": h.ConnectIncast(ctx, workload.IncastRequest{}), "ending an incast": ended, "rpc": rpc, "collective": collective, "messages": messages,
		"UDP":              call(func(r *workload.ConnectionsRequest) { r.Protocol = workload.UDP }),
		"two clients":      call(func(r *workload.ConnectionsRequest) { r.Clients = 2 }),
		"two servers":      call(func(r *workload.ConnectionsRequest) { r.Servers = 2 }),
		"no rate":          call(func(r *workload.ConnectionsRequest) { r.OpenRate = 0 }),
		"client on port 1": call(func(r *workload.ConnectionsRequest) { r.Client, r.Server = "p2", "p1" }),
		"two connections":  move(func(r *workload.BulkRequest) { r.Connections = 2 }),
		"a duration":       move(func(r *workload.BulkRequest) { r.Bytes, r.Duration = 0, time.Second }),
		"bbr":              move(func(r *workload.BulkRequest) { r.CongestionControl = "bbr" }),
		"streams":          e.Configure(ctx, []traffic.Stream{{}}),
		"a trial":          e.Start(ctx, traffic.Trial{}), "the end of a trial": e.Wait(ctx), "counters of streams": read,
	} {
		if !errors.Is(err, traffic.ErrUnsupported) {
			t.Errorf("%s: %v, want that it is not supported", name, err)
		}
	}
	if calls, _ := f.Calls(); len(calls) > 0 {
		t.Errorf("the server was called: %+v", calls)
	}
}

func TestASTFDoesNotOpen(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behavior fakeastf.Behavior
		taken    bool
		want     string
	}{
		"a missing counter":  {fakeastf.Behavior{Missing: []string{"tcps_closed", "err_flow_overflow"}}, false, `has no counters ["tcps_closed" "err_flow_overflow"]`},
		"ports of others":    {fakeastf.Behavior{}, true, "let their owner release them, or take them by force"},
		"several processors": {fakeastf.Behavior{Cores: 2}, false, "sends with 2 processors, and each needs an address for clients of its own: start it with -c 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := serveFakeASTF(t, tc.behavior)
			if tc.taken {
				f.Take()
			}
			_, err := NewASTF(t.Context(), astfOptionsForTest(f.Endpoint), astfHostsForTest)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if left := f.Left(); len(left) > 0 && !tc.taken {
				t.Errorf("left at the server: %q", left)
			}
			if !tc.taken {
				return
			}
			o := astfOptionsForTest(f.Endpoint)
			o.Force = true
			e, err := NewASTF(t.Context(), o, astfHostsForTest)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	_, err := NewASTF(t.Context(), astfOptionsForTest(newFake(t).endpoint), astfHostsForTest)
	if want := "runs in mode STL: start it with -i --astf, in mode ASTF"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a server with streams: %v, want %q", err, want)
	}
}

// A run that fails is explained, and nothing of it is left.
func TestASTFRunFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		behavior fakeastf.Behavior
		want     string
	}{
		"a refused fragment":            {fakeastf.Behavior{Refused: map[string]string{"profile_fragment": "Invalid profile : _"}}, "loading the profile at byte 0 of "},
		"a refused start":               {fakeastf.Behavior{Refused: map[string]string{"start": "Invalid state"}}, "starting the profile: TRex refused start (code -32000): Invalid state"},
		"a profile that does not build": {fakeastf.Behavior{BuildError: "Pool has only 1 address"}, "TRex did not run the profile: Pool has only 1 address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, e := openFakeASTF(t, tc.behavior)
			_, err := e.Workload().Connections(t.Context(), connectionsRequest(100, 1000))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			f.Change(func(b *fakeastf.Behavior) { *b = fakeastf.Behavior{} })
			if c, err := e.Workload().Connections(t.Context(), connectionsRequest(100, 1000)); err != nil || c.Verified != 100 {
				t.Errorf("after that: %+v, %v", c, err)
			}
		})
	}
}

// running starts a long run, and returns its end once the server runs it.
func running(ctx context.Context, t *testing.T, f *fakeastf.Server, e *ASTF) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := e.Workload().Connections(ctx, connectionsRequest(10_000, 100))
		ended <- err
	}()
	for !f.Running() {
		select {
		case err := <-ended:
			t.Fatalf("the run ended before: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return ended
}

func TestASTFRunIsInterrupted(t *testing.T) {
	t.Parallel()
	again := func(t *testing.T, e *ASTF) {
		t.Helper()
		if c, err := e.Workload().Connections(t.Context(), connectionsRequest(100, 1000)); err != nil || c.Verified != 100 {
			t.Errorf("after that: %+v, %v", c, err)
		}
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		f, e := openFakeASTF(t, fakeastf.Behavior{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := running(ctx, t, f, e)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want that it was canceled", err)
		}
		if f.Running() {
			t.Error("the server still runs the profile")
		}
		again(t, e)
	})
	t.Run("the server is gone", func(t *testing.T) {
		t.Parallel()
		f, e := openFakeASTF(t, fakeastf.Behavior{})
		ended := running(t.Context(), t, f, e)
		f.Down()
		interrupted(t, "running", <-ended)
		if err := f.Up(); err != nil {
			t.Fatal(err)
		}
		again(t, e)
	})
	t.Run("another session takes the ports", func(t *testing.T) {
		t.Parallel()
		f, e := openFakeASTF(t, fakeastf.Behavior{})
		ended := running(t.Context(), t, f, e)
		f.Take()
		f.Change(func(b *fakeastf.Behavior) {
			b.Refused = map[string]string{"get_counter_values": "counters of another session"}
		})
		err := <-ended
		interrupted(t, "running", err)
		f.Change(func(b *fakeastf.Behavior) { b.Refused = nil })
		_, err = e.Workload().Connections(t.Context(), connectionsRequest(100, 1000))
		if err == nil || !strings.Contains(err.Error(), "context is already taken") {
			t.Errorf("a run on ports of another session: %v", err)
		}
		e.server.options.Force = true
		again(t, e)
	})
}

// The driver sends what the stock client of TRex sends: the same parameters of the same types to each method that was
// recorded. The other methods are named here, since nothing was compared.
func TestASTFSendsWhatTheStockClientSends(t *testing.T) {
	t.Parallel()
	recorded := map[string][]map[string]any{}
	for _, x := range fakeastf.Recorded() {
		recorded[x.Method()] = append(recorded[x.Method()], x.Params())
	}
	f, e := openFakeASTF(t, fakeastf.Behavior{})
	if _, err := e.Workload().Connections(t.Context(), connectionsRequest(100, 1000)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Workload().Bulk(t.Context(), workload.BulkRequest{Sender: "p1", Receiver: "p2", Bytes: 100_000, Connections: 1, MTU: 1500}); err != nil {
		t.Fatal(err)
	}
	if err := e.release(t.Context()); err != nil {
		t.Fatal(err)
	}
	calls, _ := f.Calls()
	unknown := map[string]bool{}
	for _, c := range calls {
		if len(recorded[c.Method]) == 0 {
			unknown[c.Method] = true
			continue
		}
		if c.Method == "get_version" && len(c.Params) == 0 {
			continue // without a session, as in recordings of mode STL
		}
		if c.Method == "capture" && c.Params["command"] != "status" {
			unknown["capture "+c.Params["command"].(string)] = true
			continue
		}
		var differences []string
		same := slices.ContainsFunc(recorded[c.Method], func(p map[string]any) bool {
			found := differ("", p, any(c.Params))
			differences = append(differences, found...)
			return len(found) == 0
		})
		if !same {
			t.Errorf("%s %v: %q", c.Method, c.Params, differences)
		}
	}
	var names []string
	for name := range unknown {
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"capture fetch", "capture remove", "capture start", "capture stop", "ping", "push_pkts", "service", "set_l3", "set_vlan", "stop"}; !slices.Equal(names, want) {
		t.Errorf("called without a recording: %q, want %q", names, want)
	}
}

// The profile has the members of the stock client's, with the same types, and more only of those that are listed.
func TestASTFProfileIsLikeTheRecordedOne(t *testing.T) {
	t.Parallel()
	text := ""
	for _, x := range fakeastf.Recorded() {
		if x.Method() == "profile_fragment" {
			text += x.Params()["fragment"].(string)
		}
	}
	var stock, ours any
	if err := json.Unmarshal([]byte(text), &stock); err != nil {
		t.Fatal(err)
	}
	written, err := newASTFProfile(addr("198.18.1.2"), addr("198.18.2.2"), 10, 100, astfTCP{MSS: 1460}, [2]astfProgram{
		{[]params{astfSend(0), astfReceive(2)}}, {[]params{astfReceive(2), astfSend(1)}},
	}, []byte("ab"), []byte("cd")).text()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(written), &ours); err != nil {
		t.Fatal(err)
	}
	profile := ours.(map[string]any)
	for _, name := range []string{"c_glob_info", "s_glob_info"} {
		delete(profile, name)
	}
	delete(profile["templates"].([]any)[0].(map[string]any)["client_template"].(map[string]any), "limit")
	if found := differ("", stock, ours); len(found) > 0 {
		t.Errorf("%q", found)
	}
}

// The fragments of the recorded profile, and its digest, are those that the stock client sent.
func TestASTFFragmentsAsRecorded(t *testing.T) {
	t.Parallel()
	var want []map[string]any
	text := ""
	for _, x := range fakeastf.Recorded() {
		if x.Method() == "profile_fragment" {
			want, text = append(want, x.Params()), text+x.Params()["fragment"].(string)
		}
	}
	f, e := openFakeASTF(t, fakeastf.Behavior{})
	f.Calls()
	if err := e.upload(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	calls, _ := f.Calls()
	if len(calls) != len(want) {
		t.Fatalf("%d fragments, want %d", len(calls), len(want))
	}
	for i, c := range calls {
		for _, name := range []string{"fragment", "md5", "frag_first", "frag_last", "profile_id"} {
			if c.Params[name] != want[i][name] {
				t.Errorf("fragment %d: %s is %v, recorded is %v", i, name, c.Params[name], want[i][name])
			}
		}
	}
}

// The fake answers what was recorded as the real server did: the same fields of the same types.
func TestFakeASTFAnswersAsRecorded(t *testing.T) {
	t.Parallel()
	f := serveFakeASTF(t, fakeastf.Behavior{})
	last := map[string]any{}
	for i, x := range fakeastf.Recorded() {
		if x.Method() == "get_supported_cmds" || x.Method() == "get_port_status" {
			continue // not called
		}
		request := x.Request
		p := x.Params()
		for key, value := range map[string]any{"api_h": last["api_h"], "handler": last["handler"]} {
			if p[key] != nil && p[key] != "" {
				p[key] = value
			}
		}
		if x.Method() == "set_port_attr" {
			p["handler"] = last["ports"].(map[string]any)["0"]
		}
		message, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(f.Answer(message), &got); err != nil {
			t.Fatal(err)
		}
		if r, ok := got["result"].(map[string]any); ok {
			for key, value := range r {
				last[key] = value
			}
		}
		if x.Method() == "start" && got["error"] != nil && i > 0 {
			continue // the second start was of a profile that was loaded again
		}
		for _, difference := range differ("", any(x.Response), any(got)) {
			t.Errorf("exchange %d, %s: %s", i, x.Method(), difference)
		}
	}
}

// A long run keeps some of its readings: the first and the last one, and the highest load.
func TestASTFKeepsSomeReadings(t *testing.T) {
	t.Parallel()
	var samples []astfSample
	for i := range 10 * mostSamples {
		s := astfSample{at: moment(i)}
		if i == 777 {
			s.CPU = 99
		}
		samples = append(thinned(samples), s)
	}
	if n := len(samples); n > mostSamples || n < mostSamples/3 || samples[0].at != 0 || samples[n-1].at != 10*mostSamples-1 || limitsOf(samples).BusyPPM != 990_000 {
		t.Errorf("%d readings from %v to %v, busy %d", n, samples[0].at, samples[n-1].at, limitsOf(samples).BusyPPM)
	}
}
