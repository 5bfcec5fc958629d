package netiftest

import (
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/processors"
)

func TestSteeredIsWhatSteerHasSet(t *testing.T) {
	veth(t, true)
	if got := Steered(t, "d1"); len(got) != 0 {
		t.Errorf("a new interface is steered to %v", got)
	}
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	for _, processor := range usable {
		if err := netif.Steer("d1", processor); err != nil {
			t.Fatal(err)
		}
		if got := Steered(t, "d1"); !slices.Equal(got, []int{processor}) {
			t.Errorf("steered to %v, want %d", got, processor)
		}
	}
}
