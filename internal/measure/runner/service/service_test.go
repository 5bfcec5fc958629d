package service

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/testserver"
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

func serve(t *testing.T, set pki.Set, board *Board) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := set.Runner.ServerConfig(pki.OperatorName(uid))
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(board)
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
	board := NewBoard()
	c := client(t, serve(t, set, board), set.Operator)
	for _, want := range []runner.State{
		{},
		{Progress: v1alpha1.Progress{Summary: "1/2 rows", RowsDone: 1, RowsTotal: 2}},
		{Done: true, Outcome: v1alpha1.PhaseMeasured, Reason: v1alpha1.ReasonAllMeasured, Message: "done", Environment: &v1alpha1.ResultEnvironment{Engine: "sim"}},
	} {
		board.Set(want)
		got, err := c.State(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.State); diff != "" {
			t.Errorf("the state changed on the way (-want +got):\n%s", diff)
		}
	}
}

func rows(first, count int) []v1alpha1.ResultRow {
	var all []v1alpha1.ResultRow
	for size := first; size < first+count; size++ {
		all = append(all, v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: int32(size)}})
	}
	return all
}

// The log is read in pieces, from wherever the reader is.
func TestOperatorReadsTheLog(t *testing.T) {
	set := issue(t)
	board := NewBoard()
	c := client(t, serve(t, set, board), set.Operator)
	want := rows(64, 2*maxAnswerRows+10)
	for _, row := range want {
		board.Append(row)
	}
	var got []v1alpha1.ResultRow
	var log string
	for more := true; more; {
		a, err := c.State(t.Context(), len(got))
		if err != nil {
			t.Fatal(err)
		}
		if a.After != len(got) || len(a.LogRows) > maxAnswerRows || log != "" && a.Log != log {
			t.Fatalf("after %d: %d rows after %d of log %q", len(got), len(a.LogRows), a.After, a.Log)
		}
		got, more, log = append(got, a.LogRows...), a.More, a.Log
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if a, err := c.State(t.Context(), 1<<20); err != nil || a.After != len(want) || len(a.LogRows) != 0 {
		t.Errorf("a reader of another log is told where this one ends: %d, %v", a.After, err)
	}
	if other := NewBoard().answer(0).Log; other == log || log == "" {
		t.Errorf("the log of another runner is %q too", other)
	}
}

// Large rows are divided among answers, and among requests.
func TestLargeRows(t *testing.T) {
	set := issue(t)
	board := NewBoard()
	c := client(t, serve(t, set, board), set.Operator)
	large := rows(64, 5)
	for i := range large {
		large[i].Message = strings.Repeat("x", maxAnswerBytes/2-1000)
		board.Append(large[i])
	}
	a, err := c.State(t.Context(), 0)
	if err != nil || len(a.LogRows) != 2 || !a.More {
		t.Errorf("%d rows, more %v, %v", len(a.LogRows), a.More, err)
	}
	if err := c.Begin(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(large, board.Given()); diff != "" {
		t.Error(diff)
	}
}

// A runner begins once, when it has every stored row, however often it is given them.
func TestBegin(t *testing.T) {
	set := issue(t)
	board := NewBoard()
	c := client(t, serve(t, set, board), set.Operator)
	begun := func() bool {
		a, err := c.State(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Begun
	}
	if begun() {
		t.Error("it began before it was asked")
	}
	if _, err := c.call(t.Context(), http.MethodPost, beginPath, []byte(`{"rows": 3}`)); err == nil || begun() {
		t.Errorf("it began without its rows: %v", err)
	}
	stored := rows(64, 3)
	for range 2 {
		if err := c.Begin(t.Context(), stored); err != nil || !begun() {
			t.Errorf("it did not begin: %v", err)
		}
	}
	if err := c.Begin(t.Context(), rows(64, 4)); err != nil {
		t.Errorf("a runner that has begun: %v", err)
	}
	if diff := cmp.Diff(stored, board.Given()); diff != "" {
		t.Error(diff)
	}
	select {
	case <-board.Begun():
	default:
		t.Error("nobody is told that it began")
	}
}

// An operator reads no more than a runner can have to say.
func TestAnswerOfAnySize(t *testing.T) {
	set := issue(t)
	board := NewBoard()
	board.Set(runner.State{Message: strings.Repeat("x", maxAnswer)})
	if _, err := client(t, serve(t, set, board), set.Operator).State(t.Context(), 0); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v", err)
	}
}

func TestOnlyTheOperatorMayAsk(t *testing.T) {
	set, other := issue(t), issue(t)
	board := NewBoard()
	board.Set(runner.State{Message: "secret"})
	address := serve(t, set, board)
	stranger := other.Operator
	stranger.CA = set.Operator.CA
	for name, b := range map[string]pki.Bundle{
		"the runner itself":                  set.Runner,
		"an agent":                           set.Agents[0],
		"the operator of another benchmark":  other.Operator,
		"a stranger who knows the authority": stranger,
	} {
		if state, err := client(t, address, b).State(t.Context(), 0); err == nil {
			t.Errorf("%s got %+v", name, state)
		}
		if err := client(t, address, b).Begin(t.Context(), nil); err == nil || board.hasBegun() {
			t.Errorf("%s made it begin", name)
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
	address := serve(t, set, NewBoard())
	c := client(t, address, set.Operator)
	for request, want := range map[string]int{
		"POST /v1/state":         http.StatusMethodNotAllowed,
		"GET /v1/begin":          http.StatusMethodNotAllowed,
		"GET /v1/state?after=-1": http.StatusBadRequest,
		"GET /":                  http.StatusNotFound,
		"GET /v1/":               http.StatusNotFound,
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
	address := testserver.FreeAddress(t)
	if _, err := client(t, address, issue(t).Operator).State(t.Context(), 0); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("nobody there: %v", err)
	}
}
