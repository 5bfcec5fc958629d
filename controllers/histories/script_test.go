package histories

import (
	"fmt"
	"math/rand/v2"
)

// event is one thing that happens in a history.
type event struct {
	// wait is the time before in which nothing happens, in units.
	wait int
	kind string
	// which benchmark or bed, and how much.
	which, much int
}

func (e event) String() string { return fmt.Sprintf("+%d %s(%d, %d)", e.wait, e.kind, e.which, e.much) }

const (
	benchmarks = 6
	// reservations are one of each team.
	reservations = 3
)

// kinds are the events with their weights.
var kinds = map[string]int{
	"bed is asked for":               20, // much: at once, or when it is even after the first row
	"operator dies":                  30, // much: at which write, even before and odd after it is applied
	"second operator":                12, // much: for how long
	"operator stops":                 6,  // much: for how long
	"API server fails":               8,  // much: for how long
	"runner's pod is deleted":        10,
	"runner's pod fails":             6,
	"runner is silent":               6, // much: for how long
	"agent's pod is deleted":         4,
	"device's pod is deleted":        4,
	"pod that configures is lost":    8, // which: deleted when it is even, failed when it is odd; much: how long to wait for one
	"pod that resets is lost":        4, // as above
	"runner is lost in a reset":      6, // much: how long to wait for one
	"runner is lost with a list":     6, // as above
	"pod that starts a node is lost": 8, // which: deleted when it is even, failed when it is odd; much: how long to wait for one
	"pod of a hook is lost":          6, // as above
	"hooks fail":                     3,
	"quarantine is released":         4,
	"kubelet is slow":                6, // much: for how long
	"device does not stop":           3,
	"benchmark is aborted":           6,
	"benchmark is deleted":           6,
	"benchmark is forced out":        4,
	"bed is edited":                  8,
	"gang is created":                14, // which: the gang
	"member of a gang is created":    4,  // which: the gang; much: the role
	"member of a gang is aborted":    2,
	"member of a gang is deleted":    2,
	"bed is cordoned":                4,
	"team writes without pause":      10, // which: the benchmark, to the end of the history
	"bed is uncordoned":              4,
	"profile is made again":          4,
	"bed is reserved":                14, // which: the reservation; much: when and for how long
	"reservation is extended":        4,
	"reservation is released":        4,
	"node reboots":                   6, // much: for how long, and what becomes of its pods
	"runner's disk is full":          3,
	"archive is full":                5,  // much: for how long, or for good
	"recorder is full":               5,  // much: for how long, or for good
	"etcd is full":                   5,  // which: whether the operator loses its lease; much: for how long
	"clock is set":                   8,  // which: of the operator or of the API server; much: by how much
	"policy is changed":              10, // much: to which of policies
}

// ordered are the names of kinds in a fixed order, so that a seed always decides the
// same.
var ordered = sortedKeys(kinds)

// newScript makes a history of a seed: benchmarks of three teams are created one after the
// other, and in between anything happens.
func newScript(seed uint64) []event {
	rng := rand.New(rand.NewPCG(seed, 1))
	var script []event
	total := 0
	for _, weight := range kinds {
		total += weight
	}
	next := 0
	for n := 10 + rng.IntN(16); n > 0 || next < benchmarks; n-- {
		e := event{wait: rng.IntN(9), which: rng.IntN(benchmarks), much: 1 + rng.IntN(24)}
		if next < benchmarks && rng.IntN(3) == 0 || n <= 0 {
			e.kind, e.which = "benchmark is created", next
			next++
		} else {
			at := rng.IntN(total)
			for _, kind := range ordered {
				if at -= kinds[kind]; at < 0 {
					e.kind = kind
					break
				}
			}
		}
		script = append(script, e)
	}
	return script
}
