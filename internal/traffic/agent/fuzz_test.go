package agent

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// FuzzAnswers reads answers of an agent.
func FuzzAnswers(f *testing.F) {
	add := func(m proto.Message) {
		text, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	add(&agentpb.ReadResponse{Tx: []*agentpb.TxCount{{Stream: 1 << 20, Sent: 1}}, Rx: []*agentpb.RxCount{{Stream: 1, Port: "p1", Latency: &agentpb.Latency{}, Order: &agentpb.Order{}}}, Stale: map[string]uint64{"p1": 1}})
	add(&agentpb.MicroflowsResponse{Received: []uint32{1}, Last: []uint32{1}, FirstNs: []uint64{1}, BaseNs: 5})
	add(&agentpb.SampleResponse{})
	f.Fuzz(func(t *testing.T, text []byte) {
		var part agentpb.ReadResponse
		if proto.Unmarshal(text, &part) == nil {
			m := traffic.Measurement{Tx: map[uint16]traffic.TxCount{}, Rx: map[traffic.RxKey]traffic.RxCount{}}
			addPart(&m, &part)
		}
		var flows agentpb.MicroflowsResponse
		if proto.Unmarshal(text, &flows) == nil {
			p, err := recordsFromWire(&flows)
			if err == nil && p.FirstNs != nil && len(p.FirstNs) != len(p.Records) {
				t.Errorf("%d times of %d microflows", len(p.FirstNs), len(p.Records))
			}
		}
		var info agentpb.InfoResponse
		if proto.Unmarshal(text, &info) == nil {
			_, _ = infoFromWire(&info)
		}
		var stream agentpb.Stream
		if proto.Unmarshal(text, &stream) == nil {
			_, _ = streamFromWire(&stream)
		}
	})
}
