package agent

import (
	"reflect"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

// Two agents count the microflows that the other one sends: sums and records of a fleet are those
// of the engines.
func TestMicroflowsOfTwoAgents(t *testing.T) {
	a, b := twoHosts(t)
	f, _, _ := newLab(t).dialTwo(a, b)
	defer f.Close()
	info, err := f.Info(t.Context())
	must(t, "info", err)
	counter, is := traffic.As[traffic.MicroflowCounter](f)
	if !is || info.Capabilities.MaxMicroflows == 0 {
		t.Fatalf("the fleet counts microflows: %v, at most %d", is, info.Capabilities.MaxMicroflows)
	}
	streams := bidirectional(t, f)
	streams[0].Track, streams[0].Headers.SrcPortCount, streams[0].Headers.DstPortCount = traffic.TrackTimes, 300, 401
	streams[1].Track = traffic.TrackCounts
	const all = 300 * 401
	must(t, "configuring", f.Configure(t.Context(), streams))
	load := traffic.Load{Rate: traffic.Rate{Frames: 100_000, PerNanos: 1e9}, Frames: all + 7}
	must(t, "starting", f.Start(t.Context(), traffic.Trial{Loads: map[uint16]traffic.Load{1: load, 2: load}}))
	must(t, "waiting", f.Wait(t.Context()))
	var m traffic.Measurement
	eventually(t, "all frames in flight arrived", func() bool {
		m, err = f.Read(t.Context())
		must(t, "reading", err)
		return m.Rx[traffic.RxKey{Stream: 1, Port: "p2"}].Received == all+7 && m.Rx[traffic.RxKey{Stream: 2, Port: "p1"}].Received == all+7
	})
	sums, err := counter.SumMicroflows(t.Context(), m.Tx, 100)
	must(t, "summing up", err)
	want := []traffic.MicroflowSum{
		{RxKey: traffic.RxKey{Stream: 1, Port: "p2"}, Tracked: all, Complete: all, Least: 1, Most: 2},
		{RxKey: traffic.RxKey{Stream: 2, Port: "p1"}, Tracked: 100, Complete: 100, Least: 1203, Most: 1204},
	}
	if !reflect.DeepEqual(sums, want) {
		t.Errorf("sums %+v, want %+v", sums, want)
	}
	// What was not sent is silent, wherever it would have arrived.
	more := m.Tx[1]
	more.Sent += all
	sums, err = counter.SumMicroflows(t.Context(), map[uint16]traffic.TxCount{1: more, 2: m.Tx[2]}, 3)
	if err != nil || sums[0].Lossy != all || len(sums[0].Bad) != 3 || sums[0].Bad[2] != (traffic.BadMicroflow{Number: 2, Sent: 3, Received: 2}) {
		t.Errorf("sums %+v %v", sums, err)
	}
	for _, s := range []struct {
		stream uint16
		port   string
		engine traffic.MicroflowCounter
	}{{1, "p2", b}, {2, "p1", a}} {
		read := func(from traffic.MicroflowCounter) (p traffic.MicroflowPart) {
			err := from.Microflows(t.Context(), traffic.RxKey{Stream: s.stream, Port: s.port}, func(part traffic.MicroflowPart) error {
				if part.First != uint64(len(p.Records)) {
					t.Errorf("a part begins at %d, after %d records", part.First, len(p.Records))
				}
				p.Records, p.FirstNs = append(p.Records, part.Records...), append(p.FirstNs, part.FirstNs...)
				return nil
			})
			must(t, "reading microflows", err)
			return p
		}
		if got, own := read(counter), read(s.engine); len(got.Records) == 0 || !reflect.DeepEqual(got, own) {
			t.Errorf("stream %d: %d records and %d times came, the engine has %d and %d, or others", s.stream, len(got.Records), len(got.FirstNs), len(own.Records), len(own.FirstNs))
		}
	}
	if err := counter.Microflows(t.Context(), traffic.RxKey{Stream: 1, Port: "p3"}, nil); err == nil {
		t.Error("a port that no agent owns has records")
	}
}

// Times travel as differences; a microflow without a frame has none.
func TestMicroflowTimesOnTheWire(t *testing.T) {
	part := traffic.MicroflowPart{First: 5, Records: []traffic.MicroflowRecord{{Received: 1, Last: 2}, {}, {Received: 4, Last: 1<<32 - 1}}, FirstNs: []uint64{1 << 60, 0, 1<<60 - 3}}
	var got traffic.MicroflowPart
	must(t, "sending", recordsToWire(part, func(w *agentpb.MicroflowsResponse) (err error) {
		got, err = recordsFromWire(w)
		return err
	}))
	if !reflect.DeepEqual(got, part) {
		t.Errorf("%+v, want %+v", got, part)
	}
	if _, err := recordsFromWire(&agentpb.MicroflowsResponse{Received: []uint32{1}}); err == nil {
		t.Error("a part without numbers was taken")
	}
}
