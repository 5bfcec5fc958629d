package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

// oneWay is the time that the hosts take for a transfer, half of a round trip.
const oneWay, oneWayJitter = hostTime / 2, hostJitter / 2

// exchange is a collective operation between modeled hosts. Each port sends one transfer after the other in the order of the
// schedule, and receives so, for the time that the frames take on its link. A transfer ends with the later one of both, and a
// latency of the model for its last frame. There are no losses and no windows.
type exchange struct {
	applications
	request workload.CollectiveRequest
	device  shape
	draw    *rand.Rand
	// sends and receives are the times until which each port is in use.
	sends, receives map[string]time.Duration
	// links have the times of each pair of hosts, and ended the end of its last transfer.
	links map[[2]int][]time.Duration
	ended map[[2]int]time.Duration
}

// Collective implements workload.Engine.
func (a applications) Collective(ctx context.Context, r workload.CollectiveRequest) (out workload.Collective, err error) {
	if err := r.Validate(); err != nil {
		return out, err
	}
	if out.Settings, err = modelledSettings(r.CongestionControl, r.MTU); err != nil {
		return out, err
	}
	x := exchange{applications: a, request: r, draw: rand.New(rand.NewPCG(a.engine.run.handling.seed, uint64(r.Bytes))), links: map[[2]int][]time.Duration{}}
	schedule := r.Schedule()
	if x.device, err = a.deviceLatency(workload.RPCRequest{Bytes: int(schedule[0].Bytes), MTU: r.MTU}); err != nil {
		return out, err
	}
	out.Steps = make([][]time.Duration, r.Steps())
	var took time.Duration
	for n := range r.WarmUp + r.Repetitions {
		steps := x.repeat(schedule)
		last := steps[len(steps)-1]
		took += last
		if n < r.WarmUp {
			clear(x.links)
			continue
		}
		out.Completions = append(out.Completions, last)
		before := time.Duration(0)
		for i, end := range steps {
			out.Steps[i], before = append(out.Steps[i], end-before), end
		}
	}
	for _, t := range schedule {
		pair := [2]int{t.From, t.To}
		if times := x.links[pair]; times != nil {
			out.Links = append(out.Links, workload.Link{From: t.From, To: t.To, Time: workload.Percentile(times, 50)})
			delete(x.links, pair)
		}
	}
	x.probe(&out, schedule)
	return out, a.engine.clock.Sleep(ctx, took)
}

// repeat runs the schedule once, and returns when the last host ended each step.
func (x *exchange) repeat(schedule []workload.Transfer) []time.Duration {
	x.sends, x.receives, x.ended = map[string]time.Duration{}, map[string]time.Duration{}, map[[2]int]time.Duration{}
	steps := make([]time.Duration, x.request.Steps())
	ready := make([]time.Duration, x.request.Hosts)
	for step, last := 0, time.Duration(0); step < len(steps); step++ {
		next := slices.Clone(ready)
		for ; len(schedule) > 0 && schedule[0].Step == step; schedule = schedule[1:] {
			t := schedule[0]
			end := x.transfer(t, ready[t.From])
			next[t.From], next[t.To], last = max(next[t.From], end), max(next[t.To], end), max(last, end)
		}
		ready, steps[step] = next, last
	}
	return steps
}

// transfer returns the end of a transfer whose sender has the data at a time.
func (x *exchange) transfer(t workload.Transfer, ready time.Duration) time.Duration {
	pair := [2]int{t.From, t.To}
	begin := max(ready, x.ended[pair])
	end := begin + oneWay + time.Duration(x.draw.Int64N(int64(oneWayJitter)))
	if from, to := x.request.Port(t.From), x.request.Port(t.To); from != to {
		start := max(ready, x.sends[from])
		x.sends[from], x.receives[to] = start+x.linkTime(t.Bytes, from), max(start, x.receives[to])+x.linkTime(t.Bytes, to)
		last := max(x.sends[from], x.receives[to])
		end += last - begin + x.device.draw(x.draw)
	}
	x.links[pair], x.ended[pair] = append(x.links[pair], end-begin), end
	return end
}

// linkTime returns how long a part of a message is on the link of a port.
func (x *exchange) linkTime(bytes int64, port string) time.Duration {
	const framing, gap = 18, 20
	payload := int64(x.request.MTU - tcpHeaders)
	full, rest := bytes/payload, bytes%payload
	bits := 8 * full * int64(x.request.MTU+framing+gap)
	if rest > 0 {
		bits += 8 * int64(max(int(rest)+tcpHeaders+framing, frame.EthernetMinSize)+gap)
	}
	return time.Duration(float64(bits) / float64(x.engine.tester.ports[port].BitsPerSecond) * float64(time.Second))
}

// probe sends single transfers if a link is slow.
func (x *exchange) probe(out *workload.Collective, schedule []workload.Transfer) {
	slowest := x.request.Slowest(*out)
	if slowest == nil || !slowest.Slow {
		return
	}
	into, outOf, reference, possible := x.request.ProbePairs(slowest.Link)
	if !possible {
		return
	}
	single := func(pair [2]int) time.Duration {
		x.sends, x.receives, x.ended = map[string]time.Duration{}, map[string]time.Duration{}, map[[2]int]time.Duration{}
		return x.transfer(workload.Transfer{From: pair[0], To: pair[1], Bytes: schedule[0].Bytes}, 0)
	}
	out.Probes = &workload.Probes{Into: single(into), OutOf: single(outOf), Reference: single(reference)}
}
