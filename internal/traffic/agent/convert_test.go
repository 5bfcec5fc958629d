package agent

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Whatever an engine counts comes over the wire: a field that were forgotten
// would be 0.
func TestCountsComeOverTheWire(t *testing.T) {
	var count traffic.RxCount
	next := uint64(0)
	number(reflect.ValueOf(&count).Elem(), &next)
	count.Latency.Buckets = map[uint32]uint64{3: 4, 700: 1}
	count.Order.Extents, count.Order.Degrees = map[uint32]uint64{1: 5, 9: 2}, map[uint32]uint64{0: 6, 1: 1}
	key := traffic.RxKey{Stream: 7, Port: "p2"}
	sent := traffic.Measurement{
		Tx: map[uint16]traffic.TxCount{7: {Intended: 9, Sent: 8, Duration: 5}}, Rx: map[traffic.RxKey]traffic.RxCount{key: count},
		TxTime: 6, Notes: []traffic.Note{{Kind: traffic.NoteUnsent, Text: "one less"}}, Misdelivered: map[string]uint64{"p3": 5},
		Dropped: map[string]uint64{"p2": 7}, Pacing: map[string]traffic.Pacing{"p1": {MaxLag: 3, MaxBurst: 4, CaughtUp: 5, MaxClump: 6, SpacingError: 7}},
		Damaged: map[string]traffic.Damage{"p2": {Truncated: 1, Corrupted: 2, Fragmented: 3}}, Stale: map[string]uint64{"p1": 4}, Began: traffic.Moments{"p1": 5},
		Unsent: map[string]uint64{"p1": 8}, WireErrors: map[string]uint64{"p2": 9}, Pauses: map[string]traffic.PauseCount{"p2": {Frames: 3, ByPriority: [8]uint64{4: 5}}}, Notifications: map[string]uint64{"p1": 6},
	}
	got := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
	err := measurementToWire(sent, func(w *agentpb.ReadResponse) error {
		addPart(&got, w)
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%v\ngot  %+v\nsent %+v", err, got, sent)
	}
}

// So does every field of a stream, of its load, and of what an engine can do.
func TestFieldsComeOverTheWire(t *testing.T) {
	var stream traffic.Stream
	next := uint64(0)
	number(reflect.ValueOf(&stream).Elem(), &next)
	if got, err := streamFromWire(streamToWire(stream)); err != nil || !reflect.DeepEqual(got, stream) {
		t.Errorf("%v\ngot  %+v\nsent %+v", err, got, stream)
	}
	stream.Headers.SrcIP, stream.Headers.DstIP = netip.Addr{}, netip.Addr{}
	stream.Headers.Labels = nil
	if got, err := streamFromWire(streamToWire(stream)); err != nil || !reflect.DeepEqual(got, stream) {
		t.Errorf("without network layer: %v\ngot  %+v\nsent %+v", err, got, stream)
	}
	var load traffic.Load
	number(reflect.ValueOf(&load).Elem(), &next)
	if got := loadFromWire(loadToWire(1, load)); got != load {
		t.Errorf("got  %+v\nsent %+v", got, load)
	}
	var info traffic.Info
	number(reflect.ValueOf(&info.Capabilities.Limits).Elem(), &next)
	if got, err := infoFromWire(infoToWire(info)); err != nil || got.Capabilities != info.Capabilities {
		t.Errorf("%v\ngot  %+v\nsent %+v", err, got.Capabilities, info.Capabilities)
	}
}

// number gives every field of a struct another value.
func number(v reflect.Value, next *uint64) {
	*next++
	switch {
	case v.Type() == reflect.TypeFor[netip.Addr]():
		v.Set(reflect.ValueOf(netip.AddrFrom4([4]byte{198, 18, 0, byte(*next)})))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			number(v.Field(i), next)
		}
	case v.CanUint():
		v.SetUint(*next)
	case v.CanInt():
		v.SetInt(int64(*next))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint(*next))
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			number(v.Index(i), next)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		number(v.Index(0), next)
		number(v.Index(1), next)
	}
}
