package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxProcessor is the highest number of a processor that TRex can use.
const maxProcessor = 119

// layout says which processor does what. TRex takes ports in pairs, and each pair
// has the same number of processors that send.
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

// lay lays out a server for pairs of ports at the given NUMA nodes, each pair with
// as many processors that send as there are, at most limit. It returns false when
// there is not one for each.
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
	each := min(limit, (total-2)/len(nodes))
	for n, pairs := range pairsAt {
		each = min(each, len(free[n])/pairs)
	}
	if each < 1 {
		return layout{}, false
	}
	// What no pair needs directs and receives: at a node with ports if there is one
	// to spare, since the frames that are timed are there.
	var spare []int
	order := slices.SortedFunc(maps.Keys(free), func(a, b int) int {
		return cmp.Or(cmp.Compare(pairsAt[b], pairsAt[a]), cmp.Compare(a, b))
	})
	for _, n := range order {
		left := len(free[n]) - each*pairsAt[n]
		spare = append(spare, free[n][:left]...)
		free[n] = free[n][left:]
	}
	l := layout{master: spare[0], latency: spare[1]}
	for _, n := range nodes {
		l.pairs = append(l.pairs, pair{Socket: n, Threads: free[n][:each]})
		free[n] = free[n][each:]
	}
	return l, true
}

// tooFew says how many processors there are, and how many it takes.
func (m Machine) tooFew(nodes []int) error {
	pairsAt := map[int]int{}
	for _, n := range nodes {
		pairsAt[n]++
	}
	have := map[int]int{}
	for _, p := range m.Processors {
		have[m.Nodes[p]]++
	}
	for _, n := range slices.Sorted(maps.Keys(pairsAt)) {
		if have[n] < pairsAt[n] {
			return fmt.Errorf("this server may use %d processors of NUMA node %d, and its %d pairs of ports there need one each: let the kubelet align processors and cards (topologyManagerPolicy), or raise engine.trex.cpus", have[n], n, pairsAt[n])
		}
	}
	return fmt.Errorf("this server may use %d processors (%v), and it needs %d: one that directs, one that receives what is timed, and one for each of %d pairs of ports; set engine.trex.cpus to %d or more", len(m.Processors), m.Processors, len(nodes)+2, len(nodes), len(nodes)+2)
}
