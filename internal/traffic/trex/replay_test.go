package trex

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// The fake answers what was recorded as the real server did: the same fields of
// the same types, and the same errors word for word.
func TestFakeAnswersAsRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var exchanges []struct {
		Recording         int
		Request, Response any
	}
	if err := json.Unmarshal(data, &exchanges); err != nil {
		t.Fatal(err)
	}
	f := newFake(t)
	f.ports[0].src, f.ports[0].dst = "198.18.0.2", "198.18.0.1"
	f.hosts[addr("198.18.0.1")] = traffic.MAC{2, 0, 0, 0, 0, 2}
	for i, x := range exchanges {
		message, err := json.Marshal(f.ours(x.Request))
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(f.answer(message), &got); err != nil {
			t.Fatal(err)
		}
		for _, difference := range differ("", x.Response, got) {
			t.Errorf("exchange %d, of recording %d: %s: %s", i, x.Recording, message, difference)
		}
	}
}

// ours puts the fake's handles in place of the recorded ones.
func (f *fakeServer) ours(request any) any {
	if list, ok := request.([]any); ok {
		for i := range list {
			list[i] = f.ours(list[i])
		}
		return list
	}
	r := request.(map[string]any)
	p, _ := r["params"].(map[string]any)
	if p["api_h"] != nil && p["api_h"] != "deadbeef" {
		p["api_h"] = f.handle()
	}
	if p["handler"] != nil && p["handler"] != "deadbeef" {
		p["handler"] = f.ports[number(p, "port_id")].handler
	}
	return r
}

// differ compares the shape of two answers, and errors as they are.
func differ(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		other, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v: recorded is an object", at, got)}
		}
		if a, b := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(other)); !slices.Equal(a, b) {
			return []string{fmt.Sprintf("%s has %v: recorded is %v", at, b, a)}
		}
		var out []string
		for k := range want {
			if at == ".error" && want[k] != other[k] {
				out = append(out, fmt.Sprintf("%s.%s is %q: recorded is %q", at, k, other[k], want[k]))
			}
			out = append(out, differ(at+"."+k, want[k], other[k])...)
		}
		return out
	case []any:
		other, ok := got.([]any)
		if !ok || (len(want) == 0) != (len(other) == 0) {
			return []string{fmt.Sprintf("%s is %v: recorded is a list of %d", at, got, len(want))}
		}
		if len(want) > 0 {
			return differ(at+"[0]", want[0], other[0])
		}
	default:
		if a, b := fmt.Sprintf("%T", want), fmt.Sprintf("%T", got); a != b {
			return []string{fmt.Sprintf("%s is a %s: recorded is a %s", at, b, a)}
		}
	}
	return nil
}

// What the driver compresses and what the real server compressed decode to the same.
func TestCompressedFrame(t *testing.T) {
	wire, err := hex.DecodeString("abe85cea0000003c789cab56ca4c51b2b2d051ca2acecf2b2a4856b25232d23350d2512a4a2d2ecd2951b2aa562a2956b232d23332353035303737353733353431b334a9ade502000c251052")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := unpack(wire)
	if want := "{\"id\":8,\"jsonrpc\":\"2.0\",\"result\":{\"ts\":2.2505077576514694}}\n"; err != nil || string(plain) != want {
		t.Errorf("%q, %v: recorded is %q", plain, err, want)
	}
	wire[7]++
	if _, err := unpack(wire); err == nil {
		t.Error("a message of another length than it says was taken")
	}
}

// A second run without remove_rx_filters: sent continues, received of plain streams
// does not change, that of latency streams does (recording 11).
func TestFakeFreezesReceiveCounters(t *testing.T) {
	f := newFake(t)
	e := suite{endpoint: f.endpoint}.open(t, 1_000)
	configure(t, e, ipv4(t, e, 1))
	run(t, e, frames(500, 20_000)) // of which 25 are timed
	again := &sender{port: e.server.ports[0]}
	if err := e.server.client.call(t.Context(), "start_traffic", again.port.streams(params{"mul": params{"type": "raw", "op": "abs", "value": 1}, "duration": -1, "force": true}), nil); err != nil {
		t.Fatal(err)
	}
	for !again.done {
		if err := e.trial.poll(t.Context(), again); err != nil {
			t.Fatal(err)
		}
	}
	now, err := e.server.client.counters(t.Context(), e.trial.parts())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ sent, received uint64 }{{950, 475}, {50, 50}} {
		p := e.trial.parts()[i]
		if sent, received := now.sent(p, e.server.ports[0]), now.received(p, e.server.ports[1]); sent != want.sent || received != want.received {
			t.Errorf("%s stream: sent %d, received %d: want %d and %d", p.rule, sent, received, want.sent, want.received)
		}
	}
}
