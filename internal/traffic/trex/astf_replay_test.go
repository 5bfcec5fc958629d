package trex

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/go-zeromq/zmq4"

	"nodrop.dev/nodrop/internal/testkit/fakeastf"
)

// replay answers each method with its recorded answers, one after the other and the last one again, in the order of
// the recording.
type replay struct {
	t       *testing.T
	answers map[string][]map[string]any
}

// serve answers until the test ends, and returns the endpoint.
func (r *replay) serve() string {
	r.t.Helper()
	r.answers = map[string][]map[string]any{}
	for _, x := range fakeastf.Recorded() {
		r.answers[x.Method()] = append(r.answers[x.Method()], x.Response)
	}
	socket := zmq4.NewRep(context.Background())
	if err := socket.Listen("tcp://127.0.0.1:0"); err != nil {
		r.t.Fatal(err)
	}
	served := make(chan struct{})
	r.t.Cleanup(func() {
		_ = socket.Close()
		<-served
	})
	go func() {
		defer close(served)
		for {
			message, err := socket.Recv()
			if err != nil {
				return
			}
			plain, err := unpack(message.Bytes())
			if err != nil {
				return
			}
			if err := socket.Send(zmq4.NewMsg(r.answer(plain))); err != nil {
				return
			}
		}
	}()
	return "tcp://" + socket.Addr().String()
}

func (r *replay) answer(plain []byte) []byte {
	if bytes.HasPrefix(plain, []byte("[")) {
		var list []json.RawMessage
		if err := json.Unmarshal(plain, &list); err != nil {
			return nil
		}
		var out []json.RawMessage
		for _, one := range list {
			out = append(out, r.answer(one))
		}
		return (&fakeServer{T: r.t}).json(out)
	}
	var request struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	if err := json.Unmarshal(plain, &request); err != nil {
		return nil
	}
	all := r.answers[request.Method]
	answer := map[string]any{"jsonrpc": "2.0", "result": map[string]any{"ts": 2.25}} // ping, of a recording of mode STL
	if len(all) > 0 {
		answer = all[0]
		if len(all) > 1 {
			r.answers[request.Method] = all[1:]
		}
	}
	answer["id"] = request.ID
	return (&fakeServer{T: r.t}).json(answer)
}

// The driver opens a session with the recorded answers of a real server, finds its counters there, and reads its values.
func TestASTFReadsTheRecording(t *testing.T) {
	t.Parallel()
	o := astfOptionsForTest((&replay{t: t}).serve())
	o.Force = true
	e, err := NewASTF(t.Context(), o, astfHostsForTest)
	if err != nil {
		t.Fatal(err)
	}
	if e.server.version.Version != "v3.08" || e.context != "dkI8dGGp" || e.server.ports[0].handler != "L0sYNMJa" || e.server.ports[1].handler != "mzYIrZtf" ||
		e.server.ports[0].mac.String() != "02:00:00:00:00:01" || e.server.ports[1].mac.String() != "02:00:00:00:01:01" {
		t.Errorf("version %s, context %s, ports %+v", e.server.version.Version, e.context, e.server.ports)
	}
	if c := e.counters[countReceived]; c.ID != 29 || c.Help != "bytes received in sequence" || c.Info != "info" {
		t.Errorf("%s is %+v", countReceived, c)
	}
	if c := e.counters["err_c_nf_throttled"]; c.ID != 134 || c.Info != "error" {
		t.Errorf("err_c_nf_throttled is %+v", c)
	}
	rest, err := e.sample(t.Context())
	if err != nil || rest.at != 2.25 || rest.CPU != 0 || rest.state != astfIdle || len(rest.Client) != 9 || e.sum(rest.ends, neededCounters...) != 0 {
		t.Errorf("at rest: %+v, %v", rest, err)
	}
	busy, err := e.sample(t.Context()) // 3.5 s after the start of the stock client's traffic
	if err != nil || busy.CPU != 0.5838750004768372 || busy.lost() != 0 {
		t.Errorf("under load: %+v, %v", busy, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
