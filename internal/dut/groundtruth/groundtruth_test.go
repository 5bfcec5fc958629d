package groundtruth

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/truth"
	"nodrop.dev/nodrop/internal/measure/truth/truthtest"
)

// pairsEach returns the number of pairs of each method, and the methods: one of each, or in a short
// run of two methods. NODROP_TRUTH_PAIRS changes the number.
func pairsEach() (int, []v1alpha1.Method) {
	all := slices.Sorted(maps.Keys(methods))
	if n, given := truthtest.Pairs(); given {
		return n, all
	}
	if testing.Short() {
		return 1, []v1alpha1.Method{v1alpha1.MethodCongestionControl, v1alpha1.MethodLatency}
	}
	return 1, all
}

// Rows of real frames are right within their intervals, or marked.
func TestRealRowsAreRightOrMarked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	for _, tool := range []string{"tc", "nft", "ip", "bridge", "timeout", "nice", "taskset"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	pairs, all := pairsEach()
	var lines []truth.Line
	for _, method := range all {
		line := truth.Line{Method: method}
		t.Run(string(method), func(t *testing.T) {
			for seed := range pairs {
				t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
					r := draw{rand.New(rand.NewPCG(uint64(seed+1), uint64(len(method))))}
					p := methods[method](r)
					r.faulty(&p)
					if p.claims == nil {
						claimed := p.device
						if claimed.Ports == 2 {
							claimed = sending(claimed)
						}
						p.claims = claimed.Claims(p.test)
					}
					state := p.measure(t)
					truthtest.Run{
						Seed: seed + 1, Device: fmt.Sprintf("%s, %q", p.device, p.commands), Fault: p.fault,
						Rows: state.Rows, Message: state.Message, Claims: p.claims,
					}.Judge(t, &line)
				})
			}
		})
		lines = append(lines, line)
	}
	if err := truth.Print(os.Stdout, lines); err != nil {
		t.Error(err)
	}
}
