package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// What TRex is built for: the highest number of a processor, and how many send.
const (
	maxProcessor = 119
	maxSending   = 48
)

// layout assigns processors to tasks. TRex takes ports in pairs, and each pair has the same
// number of processors that send.
type layout struct {
	master, latency int
	pairs           []pair
}

// pair is two ports of the server: the NUMA node that they are at, and the
// processors that send through them.
type pair struct {
	Socket  int   `json:"socket"`
	Threads []int `json:"threads"`
}

// lay lays out a server for pairs of ports at the given NUMA nodes, each pair with as many
// processors that send as there are, at most limit. It returns false if there are too few for
// one each.
func (m Machine) lay(nodes []int, limit int) (layout, bool) {
	free := map[int][]int{}
	total := 0
	for _, p := range m.Processors {
		if p <= maxProcessor {
			free[m.Nodes[p]] = append(free[m.Nodes[p]], p)
			total++
		}
	}
	pairsAt := map[int]int{}
	for _, n := range nodes {
		pairsAt[n]++
	}
	each := min(limit, maxSending/len(nodes), (total-2)/len(nodes))
	for n, pairs := range pairsAt {
		each = min(each, len(free[n])/pairs)
	}
	if each < 1 {
		return layout{}, false
	}
	// One that no pair needs directs, another one receives: at a node with ports if
	// there are any to spare, since the frames that are timed are there.
	order := slices.SortedFunc(maps.Keys(free), func(a, b int) int {
		return cmp.Or(cmp.Compare(pairsAt[b], pairsAt[a]), cmp.Compare(a, b))
	})
	var spare []int
	for _, n := range order {
		count := min(2-len(spare), len(free[n])-each*pairsAt[n])
		spare = append(spare, free[n][:count]...)
		free[n] = free[n][count:]
	}
	l := layout{master: spare[0], latency: spare[1]}
	for _, n := range nodes {
		l.pairs = append(l.pairs, pair{Socket: n, Threads: free[n][:each]})
		free[n] = free[n][each:]
	}
	return l, true
}

// tooFew returns an error with the numbers of available and required processors.
func (m Machine) tooFew(nodes []int) error {
	pairsAt, have := map[int]int{}, map[int]int{}
	for _, n := range nodes {
		pairsAt[n]++
	}
	var usable []int
	for _, p := range m.Processors {
		if p <= maxProcessor {
			usable = append(usable, p)
			have[m.Nodes[p]]++
		}
	}
	note := ""
	if len(usable) < len(m.Processors) {
		note = fmt.Sprintf(" (TRex cannot use those above %d)", maxProcessor)
	}
	for _, n := range slices.Sorted(maps.Keys(pairsAt)) {
		if have[n] < pairsAt[n] {
			return fmt.Errorf("this server may use the processors %v%s, %d of them at NUMA node %d, and its %d pairs of ports there need one each: raise engine.trex.cpus, and let the kubelet align processors and cards (topologyManagerPolicy)", usable, note, have[n], n, pairsAt[n])
		}
	}
	return fmt.Errorf("this server may use %d processors, %v%s, and needs %d: one that directs, one that receives what is timed, and one for each of %d pairs of ports; set engine.trex.cpus to %d or more", len(usable), usable, note, len(nodes)+2, len(nodes), len(nodes)+2)
}
