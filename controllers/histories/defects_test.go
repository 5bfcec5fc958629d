package histories

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// Defects of a lab.
const (
	topologyStays = "a topology is not destroyed"
	nodeKeepsBase = "a node does not get the configuration of the variant"
	baseStaysAway = "the base is not restored"
	listStays     = "a runner does not restore the device first"
)

// TestHistoriesFindDefects has a lab with a defect: the history has the violation. Without a defect, the same history has none.
func TestHistoriesFindDefects(t *testing.T) {
	onNode := []event{{kind: "benchmark is created", which: 1, much: 6}}
	onManaged := []event{{kind: "benchmark is created", which: 2, much: 3}, {kind: "runner is lost with a list", much: 24}}
	for defect, tc := range map[string]struct {
		script []event
		want   string
	}{
		topologyStays: {onNode, "bed frr2 was given back by"},
		nodeKeepsBase: {onNode, "began while the node has"},
		baseStaysAway: {onManaged, "runs while the device has"},
		listStays:     {onManaged, "began while the device has"},
	} {
		t.Run(defect, func(t *testing.T) {
			for _, of := range []string{"", defect} {
				inBubble(t, 1, func(w *world, _ *fakeAPI) {
					w.lab.defect, w.check.defect = of, of
					wrong := w.play(context.Background(), tc.script)
					if of == "" && len(wrong) > 0 {
						t.Errorf("without a defect: %s", strings.Join(wrong, "; "))
					}
					if of != "" && !slices.ContainsFunc(wrong, func(v string) bool { return strings.Contains(v, tc.want) }) {
						t.Errorf("%q, want %q", wrong, tc.want)
					}
				})
			}
		})
	}
}
