package plan

import (
	"reflect"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// A stream between any two ports has the packet of the profile, and the gateway of
// its sender.
func TestBetween(t *testing.T) {
	o := router(nil)
	o.complete()
	p, err := Build(&o.benchmark, &o.profile, &o.bed)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Streams {
		got := p.Between(s.Tx, s.Rx[0])
		got.ID = s.ID
		if !reflect.DeepEqual(got, s) {
			t.Errorf("%+v\nwant that of the pattern, %+v", got, s)
		}
	}
}

// The engine counts at ports that watch as at those that receive.
func TestWatchingPorts(t *testing.T) {
	p := Plan{Ports: []Port{{Name: "p1"}, {Name: "p2"}, {Name: "p3"}}, Streams: []Stream{{ID: 4, Tx: 1, Rx: []int{0}, Watch: []int{2}}}}
	s := p.At(Bytes(64)).Traffic(map[string]traffic.MAC{"p2": {2}}, map[uint16]traffic.MAC{4: {3}})
	if !reflect.DeepEqual(s[0].RxPorts, []string{"p1", "p3"}) || s[0].Headers.SrcMAC != (traffic.MAC{2}) || s[0].Headers.DstMAC != (traffic.MAC{3}) {
		t.Errorf("%+v", s[0])
	}
}
