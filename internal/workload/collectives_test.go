package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func collectiveRequest(a Algorithm, hosts int) CollectiveRequest {
	return CollectiveRequest{Algorithm: a, Ports: []string{"p1", "p2", "p3", "p4", "p5"}, Hosts: hosts, Bytes: int64(8 * (3*hosts + 1)), Repetitions: 1}
}

// TestSchedulesOfCollectives follows each schedule in memory: a number of an AllReduce is a set of hosts, so that a host that is
// summed twice is seen, and one of an AllToAll is its place.
func TestSchedulesOfCollectives(t *testing.T) {
	for _, a := range []Algorithm{RingAllReduce, TreeAllReduce, AllToAll} {
		for _, hosts := range []int{2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33, MaxCollectiveHosts} {
			r := collectiveRequest(a, hosts)
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
			if wrong := followSchedule(r); wrong != "" {
				t.Errorf("%s of %d hosts: %s", a, hosts, wrong)
			}
		}
	}
}

// followSchedule describes what is wrong with a schedule.
func followSchedule(r CollectiveRequest) string {
	type element struct{ host, place int64 }
	held := make([][]map[element]int, r.Hosts) // by host and place
	own := make([][]map[element]int, r.Hosts)
	for h := range r.Hosts {
		for e := range r.Bytes / ElementBytes {
			own[h] = append(own[h], map[element]int{{int64(h), e}: 1})
		}
		held[h] = own[h]
		if r.Algorithm == AllToAll {
			held[h] = make([]map[element]int, r.ResultBytes(h)/ElementBytes)
			k := r.Kept(h)
			copy(held[h][k.Target/8:], own[h][k.Source/8:(k.Source+k.Bytes)/8])
		}
	}
	all := r.Schedule()
	for step := range r.Steps() {
		type landed struct {
			Transfer
			content []map[element]int
		}
		var arrived []landed
		sends, receives := map[int]int{}, map[int]int{}
		for _, one := range all {
			if one.Step != step {
				continue
			}
			sends[one.From]++
			receives[one.To]++
			if sends[one.From] > 1 || receives[one.To] > 1 || one.From == one.To || one.Bytes == 0 {
				return fmt.Sprintf("step %d: %+v", step, one)
			}
			arrived = append(arrived, landed{one, append([]map[element]int(nil), own[one.From][one.Source/8:(one.Source+one.Bytes)/8]...)})
		}
		if len(arrived) == 0 {
			return fmt.Sprintf("step %d is empty", step)
		}
		for _, one := range arrived {
			for i, content := range one.content {
				sum := map[element]int{}
				for e, n := range content {
					sum[e] += n
				}
				if one.Add {
					for e, n := range held[one.To][one.Target/8+int64(i)] {
						sum[e] += n
					}
				}
				held[one.To][one.Target/8+int64(i)] = sum
			}
		}
	}
	for h := range r.Hosts {
		for place, content := range held[h] {
			want := r.Hosts
			if r.Algorithm == AllToAll {
				want = 1
			}
			if len(content) != want {
				return fmt.Sprintf("host %d has %v at place %d", h, content, place)
			}
			for e, n := range content {
				if n != 1 || r.Algorithm != AllToAll && e.place != int64(place) {
					return fmt.Sprintf("host %d has %v at place %d", h, content, place)
				}
			}
		}
	}
	return ""
}

func TestStepsAndFactorsOfCollectives(t *testing.T) {
	for _, tc := range []struct {
		algorithm              Algorithm
		hosts, steps           int
		numerator, denominator int64
	}{
		{RingAllReduce, 8, 14, 14, 8}, {TreeAllReduce, 8, 6, 14, 8}, {TreeAllReduce, 9, 8, 16, 9}, {AllToAll, 8, 7, 7, 8}, {RingAllReduce, 2, 2, 2, 2},
	} {
		r := collectiveRequest(tc.algorithm, tc.hosts)
		n, d := r.BusFactor()
		if r.Steps() != tc.steps || n != tc.numerator || d != tc.denominator {
			t.Errorf("%s of %d hosts: %d steps, factor %d/%d, want %+v", tc.algorithm, tc.hosts, r.Steps(), n, d, tc)
		}
	}
}

func TestCollectivesThatNoEngineRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*CollectiveRequest)
		want   string
	}{
		"one port":         {func(r *CollectiveRequest) { r.Ports = r.Ports[:1] }, "give two ports or more"},
		"one host":         {func(r *CollectiveRequest) { r.Hosts = 1 }, "1 hosts were asked for: give 2 to 64"},
		"many hosts":       {func(r *CollectiveRequest) { r.Hosts = 65 }, "give 2 to 64"},
		"an odd size":      {func(r *CollectiveRequest) { r.Bytes = 4001 }, "give a multiple of 8"},
		"a small size":     {func(r *CollectiveRequest) { r.Bytes = 56 }, "64 or more for 8 hosts"},
		"a large size":     {func(r *CollectiveRequest) { r.Bytes = 1 << 28 }, "give 134217728 bytes or less, or fewer hosts"},
		"no repetitions":   {func(r *CollectiveRequest) { r.Repetitions = 0 }, "give 1 or more"},
		"another one":      {func(r *CollectiveRequest) { r.Algorithm = "Gossip" }, `algorithm is "Gossip": give RingAllReduce, TreeAllReduce or AllToAll`},
		"all is well":      {func(*CollectiveRequest) {}, ""},
		"the largest size": {func(r *CollectiveRequest) { r.Bytes = 1 << 27 }, ""},
	} {
		r := collectiveRequest(RingAllReduce, 8)
		tc.change(&r)
		if err := r.Validate(); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestSlowestLink(t *testing.T) {
	r := collectiveRequest(RingAllReduce, 6) // host 5 is on port p1, as host 0 is
	links := func(slow time.Duration) (all []Link) {
		for h := range 6 {
			all = append(all, Link{From: h, To: (h + 1) % 6, Time: time.Duration(100 + h)})
		}
		all[1].Time = slow
		all[5].Time = time.Hour // inside of port p1
		return all
	}
	for name, tc := range map[string]struct {
		slow   time.Duration
		probes *Probes
		want   Slowest
	}{
		"a port of the receiver": {1000, &Probes{Into: 900, OutOf: 100, Reference: 90}, Slowest{Others: 102, Slow: true, Port: "p3", Out: true}},
		"a port of the sender":   {1000, &Probes{Into: 100, OutOf: 900, Reference: 90}, Slowest{Others: 102, Slow: true, Port: "p2"}},
		"both":                   {1000, &Probes{Into: 900, OutOf: 900, Reference: 90}, Slowest{Others: 102, Slow: true}},
		"only between the two":   {1000, &Probes{Into: 100, OutOf: 100, Reference: 90}, Slowest{Others: 102, Slow: true}},
		"without probes":         {1000, nil, Slowest{Others: 102, Slow: true}},
		"none is slow":           {203, &Probes{Into: 900, OutOf: 100, Reference: 90}, Slowest{Others: 102}},
	} {
		tc.want.Link = Link{From: 1, To: 2, Time: tc.slow}
		if got := r.Slowest(Collective{Links: links(tc.slow), Probes: tc.probes}); got == nil || *got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
	if got := r.Slowest(Collective{Links: links(9)[4:]}); got != nil {
		t.Errorf("one link: %+v", got)
	}
	into, outOf, reference, ok := r.ProbePairs(Link{From: 1, To: 2})
	if !ok || into != [2]int{0, 2} || outOf != [2]int{1, 0} || reference != [2]int{0, 3} {
		t.Errorf("probes %v %v %v %v", into, outOf, reference, ok)
	}
	r.Ports = r.Ports[:3]
	if _, _, _, ok := r.ProbePairs(Link{From: 1, To: 2}); ok {
		t.Error("probes on three ports")
	}
}
