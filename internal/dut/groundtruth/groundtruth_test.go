package groundtruth

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"maps"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/truth"
)

// pairsEach returns the number of pairs of each method, and the methods: one of each, or in a short
// run of two methods. NODROP_TRUTH_PAIRS changes the number.
func pairsEach() (int, []v1alpha1.Method) {
	all := slices.Sorted(maps.Keys(methods))
	if n, err := strconv.Atoi(os.Getenv("NODROP_TRUTH_PAIRS")); err == nil {
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
	for _, tool := range []string{"tc", "nft", "ip", "bridge", "timeout", "nice"} {
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
					p.method = method
					r.faulty(&p)
					if p.claims == nil {
						claimed := p.device
						if claimed.Ports == 2 {
							claimed = sending(claimed)
						}
						p.claims = claimed.Claims(p.test)
					}
					state := p.measure(t)
					judged := truth.Pair{Method: method, Seed: uint64(seed + 1), Device: p.device, Claims: p.claims}
					out := judged.Judge(state)
					line.Add(&judged, out)
					text := fmt.Sprintf("%s: %s, fault: %s, %q", out.Verdict, p.device, p.fault, p.commands)
					for _, row := range state.Rows {
						text += fmt.Sprintf("\n  %s %s %v %s", row.Name(), row.Validity, row.ValidityReasons, row.Message)
					}
					t.Log(text, state.Message)
					for _, reason := range out.Reasons {
						t.Error(reason)
					}
				})
			}
		})
		lines = append(lines, line)
	}
	if err := truth.Print(os.Stdout, lines); err != nil {
		t.Error(err)
	}
}
