package xdp

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/processors"
)

// A tester that may use no other processors than the device's, as a traffic pod may,
// works on them all the same, and the result says so.
func TestNoProcessorIsLeftForTheTester(t *testing.T) {
	usable, err := processors.Usable()
	if err != nil {
		t.Fatal(err)
	}
	own := Options{DeviceProcessors: []int{1 << 20}}
	none := Options{DeviceProcessors: usable}
	for _, o := range []*Options{&own, &none} {
		if err := o.settle(); err != nil {
			t.Fatal(err)
		}
		if got := o.without(usable); !slices.Equal(got, usable) {
			t.Errorf("the tester may use %v, want %v", got, usable)
		}
	}
	if own.Together != "" || len(own.DeviceProcessors) != 1 {
		t.Errorf("a device with other processors: %+v", own)
	}
	if len(none.DeviceProcessors) > 0 || !strings.Contains(none.Together, "the tester may use no others") {
		t.Errorf("a device with all of them: %+v", none)
	}
}
