package service

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/pki"
	"nodrop.dev/nodrop/internal/runner"
)

const uid = "0c5f"

func issue(t *testing.T) pki.Set {
	t.Helper()
	set, err := pki.Issue(uid, 1, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func serve(t *testing.T, set pki.Set, state func() runner.State) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := set.Runner.ServerConfig(pki.OperatorName(uid))
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(state)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l, config) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func client(t *testing.T, address string, b pki.Bundle) *Client {
	t.Helper()
	c, err := NewClient(address, pki.RunnerName(uid), b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestOperatorReadsTheNewestState(t *testing.T) {
	set := issue(t)
	var state State
	c := client(t, serve(t, set, state.Get), set.Operator)
	for _, want := range []runner.State{
		{},
		{Progress: v1alpha1.Progress{Summary: "1/2 rows", RowsDone: 1, RowsTotal: 2}, Rows: []v1alpha1.ResultRow{{RowID: v1alpha1.RowID{Test: "throughput", FrameSize: 64}, Frames: &v1alpha1.FrameSection{LineRatePPM: 696875, Sent: 1 << 60}}}},
		{Done: true, Outcome: v1alpha1.PhasePassed, Reason: v1alpha1.ReasonAllMeasured, Message: "done", Environment: &v1alpha1.ResultEnvironment{Engine: "sim"}},
	} {
		state.Set(want)
		got, err := c.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the state changed on the way (-want +got):\n%s", diff)
		}
	}
}

func TestOnlyTheOperatorMayAsk(t *testing.T) {
	set, other := issue(t), issue(t)
	address := serve(t, set, func() runner.State { return runner.State{Message: "secret"} })
	stranger := other.Operator
	stranger.CA = set.Operator.CA
	for name, b := range map[string]pki.Bundle{
		"the runner itself":                  set.Runner,
		"an agent":                           set.Agents[0],
		"the operator of another benchmark":  other.Operator,
		"a stranger who knows the authority": stranger,
	} {
		if state, err := client(t, address, b).State(t.Context()); err == nil {
			t.Errorf("%s got %+v", name, state)
		}
	}
	response, err := http.Get("http://" + address + statePath)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusBadRequest || strings.Contains(string(body), "secret") {
		t.Errorf("plain HTTP gets %s %q, %v", response.Status, body, err)
	}
}

func TestNothingButTheState(t *testing.T) {
	set := issue(t)
	address := serve(t, set, func() runner.State { return runner.State{} })
	c := client(t, address, set.Operator)
	for request, want := range map[string]int{
		"POST /v1/state": http.StatusMethodNotAllowed,
		"GET /":          http.StatusNotFound,
		"GET /v1/":       http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", request, response.Status, want)
		}
	}
}

func TestAbsentRunner(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := client(t, address, issue(t).Operator).State(t.Context()); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("nobody there: %v", err)
	}
}
