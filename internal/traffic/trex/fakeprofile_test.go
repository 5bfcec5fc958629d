package trex

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// fakeProfile is a set of streams of a port that start and stop together.
type fakeProfile struct {
	id      string
	streams map[int]*fakeStream
	// most is the largest number of streams that it ever had at once: its table stays as
	// large.
	most    int
	sending bool
	run     *fakeRun
	// reportsEnd is the time at which the state shows that a run has ended.
	reportsEnd time.Time
	// filters are still those of an earlier run, as remove_rx_filters was not called.
	filters bool
}

func newFakeProfile(id string) *fakeProfile {
	return &fakeProfile{id: id, streams: map[int]*fakeStream{}}
}

func (p *fakeProfile) state() string {
	switch {
	case p.sending || time.Now().Before(p.reportsEnd):
		return "TX"
	case len(p.streams) > 0:
		return "STREAMS"
	}
	return "IDLE"
}

func (p *fakeProfile) notIn(method string) *fakeError {
	return refused("command '%s' cannot be executed on current state: '%s on profile_id(%s).", method, p.state(), p.id)
}

// order returns the streams in the order of a hash table, which depends on how large the table
// has been.
func (p *fakeProfile) order() []*fakeStream {
	ids := slices.Sorted(maps.Keys(p.streams))
	if p.most > len(ids) {
		slices.Reverse(ids)
	}
	var out []*fakeStream
	for _, id := range ids {
		out = append(out, p.streams[id])
	}
	return out
}

// state returns the state of all profiles together.
func (p *fakePort) state() string {
	state := "IDLE"
	for _, one := range p.profiles {
		if s := one.state(); s == "TX" || state == "IDLE" {
			state = s
		}
	}
	return state
}

// profile is the one that a call is about, which must be there.
func (p *fakePort) profile(q map[string]any) (*fakeProfile, *fakeError) {
	id := fmt.Sprint(q["profile_id"])
	if one := p.profiles[id]; one != nil {
		return one, nil
	}
	return nil, refused("profile_id %s does not exists", id)
}

// profileList has the profiles that there ever were, in no order.
func (f *fakeServer) profileList(p *fakePort, _ map[string]any) (any, *fakeError) {
	return slices.Collect(maps.Keys(p.profiles)), nil
}

// removeStreams takes the counters with it.
func (f *fakeServer) removeStreams(p *fakePort, q map[string]any) (any, *fakeError) {
	one, err := p.profile(q)
	if err != nil {
		return nil, err
	}
	if one.sending {
		return nil, one.notIn("remove_and_delete_all_streams")
	}
	gone := one.streams
	one.streams = map[int]*fakeStream{}
	for _, s := range gone {
		if len(f.ofGroup(s.group)) > 0 {
			continue
		}
		for number, group := range f.numbers[s.latency] {
			if group == s.group {
				delete(f.numbers[s.latency], number)
			}
		}
		for _, port := range f.ports {
			delete(port.arrived, s.group)
		}
	}
	return map[string]any{}, nil
}

// removeFilters is taken only while there are streams that do not run.
func (f *fakeServer) removeFilters(p *fakePort, q map[string]any) (any, *fakeError) {
	one, err := p.profile(q)
	if err != nil {
		return nil, err
	}
	if one.state() != "STREAMS" {
		return nil, one.notIn("remove_rx_filters")
	}
	one.filters = false
	return map[string]any{}, nil
}

// ofGroup are all counted streams of a group.
func (f *fakeServer) ofGroup(group int) (out []*fakeStream) {
	for _, p := range f.ports {
		for _, one := range p.profiles {
			for _, s := range one.streams {
				if s.enabled && s.group == group {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// number assigns to a group that starts the lowest free hardware number, unless it
// has one.
func (f *fakeServer) number(s *fakeStream, limit int) *fakeError {
	taken := f.numbers[s.latency]
	for n := range limit {
		if group, ok := taken[n]; ok && group == s.group {
			s.number = n
			return nil
		}
	}
	for n := range limit {
		if _, ok := taken[n]; !ok {
			taken[n], s.number = s.group, n
			return nil
		}
	}
	return refused("Failed allocating statistic counter. Probably all are used for this rule type.")
}

// fakeCable joins ports of two fake servers. Frames on it know their hardware number
// only.
type fakeCable struct {
	mu     sync.Mutex
	frames map[fakeEnd]map[fakeMark]uint64
	ends   map[fakeEnd]fakeEnd
}

type fakeEnd struct {
	server *fakeServer
	port   int
}

// fakeMark is the mark of a frame: a number among plain or latency streams.
type fakeMark struct {
	latency bool
	number  int
}

// join joins the ports of both servers, each with the one of the same index.
func join(a, b *fakeServer) {
	c := &fakeCable{frames: map[fakeEnd]map[fakeMark]uint64{}, ends: map[fakeEnd]fakeEnd{}}
	for i := range a.ports {
		near, far := fakeEnd{a, i}, fakeEnd{b, i}
		c.ends[near], c.ends[far] = far, near
		c.frames[near], c.frames[far] = map[fakeMark]uint64{}, map[fakeMark]uint64{}
	}
	a.locked(func() { a.cable = c })
	b.locked(func() { b.cable = c })
}

// put puts frames of a stream on the cable of a port.
func (c *fakeCable) put(from fakeEnd, s *fakeStream, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames[c.ends[from]][fakeMark{s.latency, s.number}] += n
}

// take counts what arrived from another server under the group that has the number
// here.
func (f *fakeServer) take() {
	if f.cable == nil {
		return
	}
	f.cable.mu.Lock()
	defer f.cable.mu.Unlock()
	for _, p := range f.ports {
		waiting := f.cable.frames[fakeEnd{f, p.index}]
		for mark, n := range waiting {
			p.received += n
			if group, ok := f.numbers[mark.latency][mark.number]; ok {
				p.arrived[group] += n
			}
		}
		clear(waiting)
	}
}

// byGroup are the groups that were asked for, in order.
func byGroup(all []*fakeStream) map[int][]*fakeStream {
	slices.SortFunc(all, func(a, b *fakeStream) int { return cmp.Compare(a.group, b.group) })
	out := map[int][]*fakeStream{}
	for _, s := range all {
		out[s.group] = append(out[s.group], s)
	}
	return out
}
