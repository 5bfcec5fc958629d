package xdp

import (
	"fmt"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// Ports that fell back for the same reason share a note, so that the message of a row with
// many ports stays short.
func TestFallbacksOfManyPortsShareANote(t *testing.T) {
	var ports []*port
	for i := range 20 {
		p := newPort(Port{Name: fmt.Sprintf("p%d", i+1)}, nil, attachment{generic: "by generic XDP"}, nil)
		p.receive.streams = []traffic.Stream{{}}
		ports = append(ports, p)
	}
	ports[3].receive.attached.generic = "by generic XDP for another reason"
	ports[4].receive.streams = nil
	notes := (&trial{}).fallbacks(ports)
	want := []string{
		"frames of p1, p2, p3, p6, p7, p8, p9, p10 and 10 more ports were received by generic XDP",
		"frames of p4 were received by generic XDP for another reason",
	}
	if len(notes) != len(want) {
		t.Fatalf("%+v, want %q", notes, want)
	}
	for i, n := range notes {
		if n.Kind != traffic.NoteFallback || n.Text != want[i] {
			t.Errorf("%+v, want %q", n, want[i])
		}
	}
}
