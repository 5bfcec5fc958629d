package tcpmodel

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// drawParams returns random valid parameters of a small simulation.
func drawParams(r *rand.Rand) Params {
	p := Defaults()
	p.Seed = r.Uint64()
	p.Servers = 1 + r.IntN(12)
	p.Iterations = 1 + r.IntN(4)
	p.BlockBytes = p.Servers + r.IntN(400_000)
	p.Striped = r.IntN(3) == 0
	p.MTUBytes = []int{576, 1500, 9000}[r.IntN(3)]
	p.LinkMbps = []float64{100, 1000, 10_000}[r.IntN(3)]
	p.ServerLinkMbps = []float64{100, 1000, 10_000}[r.IntN(3)]
	p.Propagation = time.Duration(r.IntN(100_000))
	p.Switch.BufferBytes = 10_000 + r.IntN(200_000)
	p.Switch.ECNThresholdBytes = []int{0, 1, 30_000}[r.IntN(3)]
	p.Switch.Alpha = []float64{0, 1, 8}[r.IntN(3)]
	if r.IntN(2) == 0 {
		p.Switch.Buffering, p.Switch.PortBytes = InputBuffer, 10_000+r.IntN(50_000)
	}
	p.Hosts.Jitter = time.Duration(r.IntN(200_000))
	p.Hosts.IterationGap = time.Duration(r.IntN(500)) * time.Millisecond
	p.TCP = TCP{
		CongestionControl: []CongestionControl{Reno, Cubic, DCTCP}[r.IntN(3)], InitialWindow: 1 + r.IntN(20), ReceiveWindowBytes: 9000 + r.IntN(500_000),
		SSThresholdSegments: r.IntN(2) * r.IntN(50), GrowthLimit: 1 + r.IntN(2), MinRTO: time.Duration(1+r.IntN(200)) * time.Millisecond, MaxRTO: time.Minute,
		DelayedAck: time.Duration(r.IntN(2)*40) * time.Millisecond, SACK: r.IntN(2) == 0, ECN: r.IntN(2) == 0, KeepOpen: r.IntN(2) == 0, IdleRestart: r.IntN(2) == 0,
	}
	p.TCP.LostRetransmit = p.TCP.SACK && r.IntN(2) == 0
	p.TCP.RACK = p.TCP.SACK && r.IntN(3) == 0
	if r.IntN(3) == 0 {
		p.Stateless = Stateless{FrameBytes: 64 + r.IntN(1455)}
		line := p.LinkMbps * 1e6 / 8 / float64(p.Stateless.FrameBytes+preambleBytes)
		p.Stateless.PerSecond = 1 + int64(line*0.6*r.Float64())
	}
	return p
}

// TestConservation draws parameters, and holds each result to the sums that every network has.
func TestConservation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	drops, repeated, marked, timeouts := 0, 0, 0, 0
	lost := int64(0)
	for i := range 400 {
		p := drawParams(r)
		res, err := Run(p)
		if err != nil {
			t.Fatalf("draw %d: %v\n%+v", i, err, p)
		}
		if len(res.Iterations) != p.Iterations {
			t.Fatalf("draw %d has %d of %d iterations\n%+v", i, len(res.Iterations), p.Iterations, p)
		}
		dropped, again, expired := 0, 0, 0
		for _, it := range res.Iterations {
			want := int64(p.Servers) * int64(p.BlockBytes)
			if p.Striped {
				want = int64(p.BlockBytes)
			}
			if it.Bytes != want {
				t.Errorf("draw %d: %d bytes, want %d\n%+v", i, it.Bytes, want, p)
			}
			least := time.Duration(float64(it.Bytes) * 8 / p.LinkMbps * 1000)
			if it.Completion < least {
				t.Errorf("draw %d: completion %v is shorter than the data on the link, %v", i, it.Completion, least)
			}
			dropped += it.DroppedPackets
			again += it.Retransmissions
			marked += it.MarkedPackets
			expired += it.Timeouts
		}
		var segments int64
		for server := range p.Servers {
			segments += int64((p.block(server)+p.segmentBytes()-1)/p.segmentBytes()) * int64(p.Iterations)
		}
		ofConnections := Connection{}
		for _, c := range res.Connections {
			ofConnections.Retransmissions += c.Retransmissions
			ofConnections.Timeouts += c.Timeouts
		}
		if ofConnections.Retransmissions != again || ofConnections.Timeouts != expired {
			t.Errorf("draw %d: connections have %+v, iterations %d retransmissions and %d timeouts\n%+v", i, ofConnections, again, expired, p)
		}
		if res.SentPackets != res.DeliveredPackets+int64(dropped) {
			t.Errorf("draw %d: sent %d, delivered %d, dropped %d\n%+v", i, res.SentPackets, res.DeliveredPackets, dropped, p)
		}
		if res.SentPackets != segments+int64(again) {
			t.Errorf("draw %d: sent %d, data %d, retransmitted %d\n%+v", i, res.SentPackets, segments, again, p)
		}
		if res.DeliveredPackets-res.DuplicatePackets != segments {
			t.Errorf("draw %d: delivered %d, of which %d again; want %d new ones\n%+v", i, res.DeliveredPackets, res.DuplicatePackets, segments, p)
		}
		if c := res.Stateless; c.Sent != c.Delivered+c.Dropped || (c.Sent > 0) != (p.Stateless.PerSecond > 0) || c.MinWait > c.AvgWait || c.AvgWait > c.MaxWait {
			t.Errorf("draw %d: stateless frames %+v\n%+v", i, c, p)
		}
		lost += res.Stateless.Dropped
		if limit := p.Switch.BufferBytes; res.MaxQueueBytes > limit {
			t.Errorf("draw %d: queue of %d bytes in a buffer of %d", i, res.MaxQueueBytes, limit)
		}
		if a := p.Switch.Alpha; a > 0 && p.Switch.Buffering == OutputBuffer {
			if limit := int(a/(1+a)*float64(p.Switch.BufferBytes)) + p.frameBytes(); res.MaxQueueBytes > limit {
				t.Errorf("draw %d: queue of %d bytes above the threshold of %d", i, res.MaxQueueBytes, limit)
			}
		}
		if limit := p.Switch.PortBytes; limit > 0 && res.MaxQueueBytes > limit {
			t.Errorf("draw %d: queue of %d bytes in a share of %d", i, res.MaxQueueBytes, limit)
		}
		drops += dropped
		repeated += again
		timeouts += expired
	}
	if lost == 0 {
		t.Error("no draw has lost a stateless frame")
	}
	if drops == 0 || repeated == 0 || marked == 0 || timeouts == 0 {
		t.Errorf("the draws have %d drops, %d retransmissions, %d marks, %d timeouts: each must occur", drops, repeated, marked, timeouts)
	}
}

// TestSameSeed repeats a lossy run, and changes its seed.
func TestSameSeed(t *testing.T) {
	p := recentHosts()
	p.Servers, p.Iterations, p.Switch.BufferBytes = 12, 20, 100_000
	first, second := run(t, p), run(t, p)
	if !reflect.DeepEqual(first, second) {
		t.Error("two runs with one seed differ")
	}
	p.Seed++
	if reflect.DeepEqual(first.Iterations, run(t, p).Iterations) {
		t.Error("a run with another seed has the same iterations")
	}
}

func run(t *testing.T, p Params) Result {
	t.Helper()
	r, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValidate changes one field at a time to a value out of its range.
func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Params){
		"servers 0: use 1 to 1024":                                      func(p *Params) { p.Servers = 0 },
		"iterations 0: use":                                             func(p *Params) { p.Iterations = 0 },
		"blockBytes 0: use":                                             func(p *Params) { p.BlockBytes = 0 },
		"blockBytes 3: use 4 to":                                        func(p *Params) { p.Striped, p.BlockBytes = true, 3 },
		"mtuBytes 575: use 576 to 65535":                                func(p *Params) { p.MTUBytes = 575 },
		"linkMbps 0: use":                                               func(p *Params) { p.LinkMbps = 0 },
		"serverLinkMbps 0: use":                                         func(p *Params) { p.ServerLinkMbps = 0 },
		"propagation 2s: use 0s to 1s":                                  func(p *Params) { p.Propagation = 2 * time.Second },
		"hosts.jitter -1ns: use":                                        func(p *Params) { p.Hosts.Jitter = -1 },
		"tcp.minRTO 0s: use 10µs to 1m0s":                               func(p *Params) { p.TCP.MinRTO = 0 },
		"tcp.maxRTO 1ms: use 200ms":                                     func(p *Params) { p.TCP.MaxRTO = time.Millisecond },
		"tcp.initialWindow 0: use":                                      func(p *Params) { p.TCP.InitialWindow = 0 },
		"tcp.receiveWindowBytes 1000: use 1448":                         func(p *Params) { p.TCP.ReceiveWindowBytes = 1000 },
		`tcp.congestionControl "bbr": use one of reno, cubic, dctcp`:    func(p *Params) { p.TCP.CongestionControl = "bbr" },
		`switch.buffering "": use one of output, input`:                 func(p *Params) { p.Switch.Buffering = "" },
		"switch.bufferBytes 0: set it or switch.portBytes":              func(p *Params) { p.Switch.BufferBytes = 0 },
		"switch.bufferBytes 1517: use at least one frame of 1518":       func(p *Params) { p.Switch.BufferBytes = 1517 },
		"switch.portBytes 1517: use at least one frame of 1518":         func(p *Params) { p.Switch.PortBytes = 1517 },
		"switch.alpha 0.001: the threshold of an empty buffer is below": func(p *Params) { p.Switch.Alpha = 0.001 },
		"tcp.rack true: it needs tcp.sack true":                         func(p *Params) { p.TCP.SACK, p.TCP.RACK = false, true },
		"tcp.lostRetransmit true: it needs tcp.sack true":               func(p *Params) { p.TCP.SACK = false },
	} {
		p := Defaults()
		change(&p)
		if _, err := Run(p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := Defaults().Validate(); err != nil {
		t.Error(err)
	}
}
