package agent

import (
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
	key := traffic.RxKey{Stream: 7, Port: "p2"}
	sent := traffic.Measurement{
		Tx: map[uint16]traffic.TxCount{7: {Intended: 9, Sent: 8, Duration: 5}}, Rx: map[traffic.RxKey]traffic.RxCount{key: count},
		TxTime: 6, Notes: []traffic.Note{{Kind: traffic.NoteUnsent, Text: "one less"}},
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

// number gives every number of a struct another value.
func number(v reflect.Value, next *uint64) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			number(f, next)
		case reflect.Uint64:
			*next++
			f.SetUint(*next)
		}
	}
}
