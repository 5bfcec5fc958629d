package traffic

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What machines see of a device adds up, and so do intervals.
func TestDeviceSamples(t *testing.T) {
	t.Parallel()
	of := func(port string, frames uint64, busy time.Duration) *DeviceSample {
		return &DeviceSample{
			Interfaces: map[string]InterfaceSample{port: {RxFrames: frames, TxDropped: 2 * frames}},
			Processors: &ProcessorSample{Busy: busy, SoftInterrupts: busy / 2, Total: time.Second},
		}
	}
	all := &DeviceSample{}
	all.Add(of("p1", 5, 400))
	all.Add(nil)
	all.Add(of("p2", 7, 200))
	want := &DeviceSample{
		Interfaces: map[string]InterfaceSample{"p1": {RxFrames: 5, TxDropped: 10}, "p2": {RxFrames: 7, TxDropped: 14}},
		Processors: &ProcessorSample{Busy: 600, SoftInterrupts: 300, Total: 2 * time.Second},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	later := &DeviceSample{
		Interfaces: map[string]InterfaceSample{"p1": {RxFrames: 9, TxDropped: 10}, "p2": {RxFrames: 6}},
		Processors: &ProcessorSample{Busy: 700, SoftInterrupts: 300, Total: 3 * time.Second},
	}
	want = &DeviceSample{
		// A counter that went back has not grown.
		Interfaces: map[string]InterfaceSample{"p1": {RxFrames: 4}, "p2": {}},
		Processors: &ProcessorSample{Busy: 100, Total: time.Second},
	}
	if diff := cmp.Diff(want, later.Since(all)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(all, all.Since(nil)); diff != "" {
		t.Error(diff)
	}
	var none *DeviceSample
	if none.Since(all) != nil {
		t.Error("there is something of a device that is not seen any more")
	}
}
