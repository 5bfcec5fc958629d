package trex

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"nodrop.dev/nodrop/internal/testkit/testserver"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// fakeServer behaves as recordings of a TRex v3.08 server do, with their traps.
// Its two ports are joined to each other. It sends no frames: it works out from
// the clock how many would have been sent and received.
type fakeServer struct {
	*testing.T
	endpoint string
	socket   zmq4.Socket
	served   chan struct{}

	mu    sync.Mutex
	ports []*fakePort
	// hosts answer ARP and neighbor discovery on every port.
	hosts map[netip.Addr]traffic.MAC
	// vlans are the tags of the network that they are in.
	vlans frame.VLANs
	// capacity is the number of frames per second that a port can send; above it the
	// scheduler's time goes slower than the clock.
	capacity float64
	// dropEvery drops every so many-th frame of a stream on the way; 0 drops none.
	dropEvery uint64
	// limited drops what is above a rate on the way.
	limited fakeLimit
	// leftover is the number of frames that stay in a receiver's ring when a port stops; a
	// few of them are counted each time that the port's counters are requested.
	leftover uint64
	// lag is the time from a start to the first frame of a port.
	lag time.Duration
	// late is the time from its last frame until a port that ends by itself reports the
	// end.
	late time.Duration
	// period is the interval at which the extremes of latency are updated, and update the
	// time of the next update.
	period time.Duration
	update time.Time
	// hdr reports whether every latency is reported, as with --hdrh.
	hdr bool
	// mostShort is the greatest count of the first latency bucket, by group.
	mostShort map[int]uint64

	// starts counts how often the server was started.
	starts int
	// numbers are the groups that have hardware numbers, of plain streams and of latency
	// streams.
	numbers map[bool]map[int]int
	// cable joins the ports to those of another server, not to each other.
	cable *fakeCable

	captures map[int]*fakeCapture
	events   []map[string]any
	versions int
	handlers int
	// calls counts the methods that were called, and compressed the messages.
	calls      map[string]int
	compressed int
	// broken is answered to a method instead of doing it.
	broken map[string]*fakeError
}

// fakeError is an error as the server returns it.
type fakeError struct {
	Code     int    `json:"code"`
	Message  string `json:"message"`
	Specific string `json:"specific_err,omitempty"`
}

func refused(format string, args ...any) *fakeError {
	return &fakeError{-32000, "Failed To Execute Method", fmt.Sprintf(format, args...)}
}

func badField(name string) *fakeError {
	return &fakeError{-32602, "Bad parameters for method", fmt.Sprintf("field '%s' value is null", name)}
}

// fakeCounters is the number of plain streams that are counted, and fakeLatencyCounters the
// number of latency streams in addition.
const fakeCounters, fakeLatencyCounters = 1023, 128

// handle returns the API handle of this start of the server.
func (f *fakeServer) handle() string { return fmt.Sprintf("api%05d", f.starts) }

// newFake serves on a free port until the test ends.
func newFake(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{
		T: t, endpoint: "tcp://" + testserver.FreeAddress(t), capacity: 1e6, mostShort: map[int]uint64{}, period: 500 * time.Millisecond, update: time.Now(),
		hosts: map[netip.Addr]traffic.MAC{}, calls: map[string]int{}, broken: map[string]*fakeError{},
	}
	f.up()
	t.Cleanup(f.down)
	return f
}

// up starts the server without any state of an earlier start.
func (f *fakeServer) up() {
	f.Helper()
	f.locked(func() {
		f.starts++
		f.ports = []*fakePort{newFakePort(0), newFakePort(1)}
		f.captures, f.events = map[int]*fakeCapture{}, nil
		f.numbers = map[bool]map[int]int{false: {}, true: {}}
	})
	socket := zmq4.NewRep(context.Background())
	if err := socket.Listen(f.endpoint); err != nil {
		f.Fatalf("listening: %v", err)
	}
	f.endpoint = "tcp://" + socket.Addr().String()
	served := make(chan struct{})
	f.socket, f.served = socket, served
	go func() {
		defer close(served)
		for {
			message, err := socket.Recv()
			if err != nil {
				return
			}
			if err := socket.Send(zmq4.NewMsg(f.answer(message.Bytes()))); err != nil {
				return
			}
		}
	}()
}

// down ends the server, and every connection to it.
func (f *fakeServer) down() {
	_ = f.socket.Close()
	<-f.served
}

// answer answers a message in the framing that it came in.
func (f *fakeServer) answer(wire []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(wire) > 999_999 {
		return f.json(map[string]any{"jsonrpc": "2.0", "id": nil, "error": fakeError{
			Code: -32603, Message: fmt.Sprintf("Request is too large (%d bytes). Consider splitting to smaller chunks.", len(wire)),
		}})
	}
	if len(wire) < 8 || binary.BigEndian.Uint32(wire) != 0xabe85cea {
		return f.json(f.rpc(wire))
	}
	f.compressed++
	r, err := zlib.NewReader(bytes.NewReader(wire[8:]))
	if err != nil {
		f.Errorf("a compressed message: %v", err)
		return nil
	}
	plain, err := io.ReadAll(r)
	if err != nil || len(plain) != int(binary.BigEndian.Uint32(wire[4:])) {
		f.Errorf("a compressed message of %d bytes says %d: %v", len(plain), binary.BigEndian.Uint32(wire[4:]), err)
	}
	answer := f.json(f.rpc(plain))
	var b bytes.Buffer
	b.Write(binary.BigEndian.AppendUint32(nil, 0xabe85cea))
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(answer))))
	w := zlib.NewWriter(&b)
	_, _ = w.Write(answer) // into memory
	_ = w.Close()
	return b.Bytes()
}

func (f *fakeServer) json(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		f.Errorf("writing an answer: %v", err)
	}
	return b
}

// rpc answers a request, or several: one in a list is answered without the list,
// none with null.
func (f *fakeServer) rpc(plain []byte) any {
	if !bytes.HasPrefix(bytes.TrimSpace(plain), []byte("[")) {
		return f.one(plain)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(plain, &list); err != nil {
		f.Errorf("a batch: %v", err)
	}
	switch len(list) {
	case 0:
		return nil
	case 1:
		return f.one(list[0])
	}
	var out []any
	for _, r := range list {
		out = append(out, f.one(r))
	}
	return out
}

func (f *fakeServer) one(plain []byte) any {
	var r struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Method  string         `json:"method"`
		Params  map[string]any `json:"params"`
	}
	if err := json.Unmarshal(plain, &r); err != nil {
		f.Errorf("a request: %v", err)
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": r.ID}
	fail := func(e *fakeError) any {
		answer["error"] = e
		return answer
	}
	switch {
	case r.ID == nil:
		return fail(&fakeError{Code: -32600, Message: "Missing 'id' field"})
	case r.Version != "2.0":
		return fail(&fakeError{Code: -32600, Message: "Invalid JSONRPC Version"})
	}
	f.calls[r.Method]++
	if e := f.broken[r.Method]; e != nil {
		return fail(e)
	}
	result, err := f.method(r.Method, r.Params)
	if err != nil {
		return fail(err)
	}
	answer["result"] = result
	return answer
}

// number reads a number parameter; absent is -1.
func number(p map[string]any, key string) int {
	if n, ok := p[key].(float64); ok {
		return int(n)
	}
	return -1
}

func object(p map[string]any, key string) map[string]any {
	o, _ := p[key].(map[string]any)
	return o
}

func (f *fakeServer) method(name string, p map[string]any) (any, *fakeError) {
	switch name {
	case "get_version":
		return map[string]any{"build_date": "Nov 21 2026", "build_time": "00:48:56", "built_by": "unknown", "mode": "STL", "version": "v3.08"}, nil
	case "ping":
		return map[string]any{"ts": float64(time.Now().UnixNano()) / 1e9}, nil
	case "api_sync_v2":
		if p["name"] != "STL" {
			return nil, refused("RPC configuration mismatch - server RPC configuration: 'STL', client RPC configuration: '%v'", p["name"])
		}
		if number(p, "major") != 5 || number(p, "minor") > 1 {
			return nil, refused("Version mismatch: your client version is too new to be supported by the server\n(API type 'STL':  - server: '5.1', client: '%d.%d')", number(p, "major"), number(p, "minor"))
		}
		return map[string]any{"api_h": f.handle()}, nil
	}
	global := map[string]func(map[string]any) (any, *fakeError){
		"get_system_info": f.systemInfo, "get_async_events": f.asyncEvents, "get_pgid_stats": f.groupStats,
		"get_active_pgids": f.activeGroups, "capture": f.capture,
	}
	perPort := map[string]func(*fakePort, map[string]any) (any, *fakeError){
		"acquire": f.acquire, "get_port_status": f.portStatus, "get_port_stats": f.portCounters, "get_stream_list": f.streamList,
	}
	owned := map[string]func(*fakePort, map[string]any) (any, *fakeError){
		"release": f.release, "set_port_attr": f.setAttr, "service": f.service, "set_l3": f.setL3, "set_vlan": f.setVLAN, "push_pkts": f.push,
		"add_stream": f.addStream, "remove_all_streams": f.removeStreams, "remove_rx_filters": f.removeFilters,
		"start_traffic": f.start, "stop_traffic": f.stop, "get_profile_list": f.profileList,
	}
	if global[name] == nil && perPort[name] == nil && owned[name] == nil {
		return nil, &fakeError{Code: -32601, Message: fmt.Sprintf("Method %s not registered", name)}
	}
	switch p["api_h"] {
	case nil:
		return nil, badField("api_h")
	case f.handle():
	default:
		return nil, refused("API verification failed - API handler provided mismatch for class: 'common'")
	}
	f.advance(time.Now())
	if do := global[name]; do != nil {
		return do(p)
	}
	i := number(p, "port_id")
	if i < 0 || i >= len(f.ports) {
		return nil, badField("port_id")
	}
	port := f.ports[i]
	if do := perPort[name]; do != nil {
		return do(port, p)
	}
	if port.handler == "" {
		return nil, refused("please acquire the port before modifying port state")
	}
	if p["handler"] != port.handler {
		return nil, refused("port is not owned by you or your current executing session")
	}
	return owned[name](port, p)
}

// systemInfo lists the ports in another order than that of their index.
func (f *fakeServer) systemInfo(map[string]any) (any, *fakeError) {
	var ports []any
	for _, p := range []*fakePort{f.ports[1], f.ports[0]} {
		ports = append(ports, map[string]any{
			"cores": []int{0}, "description": "Unknown", "driver": "net_af_packet", "hw_mac": p.mac.String(), "index": p.index,
			"is_fc_supported": false, "is_ieee1588_supported": false, "is_led_supported": false, "is_link_supported": false,
			"is_prom_supported": true, "is_virtual": true, "is_vxlan_supported": false, "numa": -1, "pci_addr": "N/A",
			"rx":    map[string]any{"caps": []string{"flow_stats", "latency", "rx_bytes", "tpg"}, "counters": fakeCounters},
			"stack": "legacy", "supp_speeds": []int{},
		})
	}
	return map[string]any{
		"advanced_per_stream_stats": true, "core_type": "AMD EPYC", "dp_core_count": 1, "dp_core_count_per_port": 1,
		"hostname": "vm", "is_multiqueue_mode": false, "port_count": 2, "ports": ports, "uptime": fmt.Sprintf("Nov 21 2026 @ 01:06:%02d", f.starts),
	}, nil
}

func (f *fakeServer) asyncEvents(map[string]any) (any, *fakeError) {
	events := f.events
	if events == nil {
		events = []map[string]any{}
	}
	f.events = nil
	return map[string]any{"data": events}, nil
}

func (f *fakeServer) event(kind int, data map[string]any) {
	f.events = append(f.events, map[string]any{"name": "trex-event", "type": kind, "seq": len(f.events), "data": data})
}
