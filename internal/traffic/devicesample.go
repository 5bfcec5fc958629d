package traffic

import (
	"maps"
	"time"
)

// DeviceSample is what a device of software on the tester's machines has counted since the
// trial in hand was prepared.
type DeviceSample struct {
	// Interfaces of the device by the port that they are cabled to; those whose counters
	// cannot be read are missing.
	Interfaces map[string]InterfaceSample
	// Processors that the device has of its own; nil when it has none.
	Processors *ProcessorSample
}

// InterfaceSample is what an interface has counted. Bytes are left out: a veth counts those of
// some frames without their Ethernet header.
type InterfaceSample struct {
	RxFrames, RxDropped, RxErrors uint64
	TxFrames, TxDropped, TxErrors uint64
}

// ProcessorSample is time of processors, added up. The kernel counts it in ticks of 10 ms.
type ProcessorSample struct {
	// Busy is what they did not spend idle, of Total. SoftInterrupts, in which the kernel
	// forwards frames, is a part of Busy.
	Busy, SoftInterrupts, Total time.Duration
}

// Add adds what is known from another machine.
func (d *DeviceSample) Add(other *DeviceSample) {
	if other == nil {
		return
	}
	for port, c := range other.Interfaces {
		Put(&d.Interfaces, port, c)
	}
	if p := other.Processors; p != nil {
		var sum ProcessorSample
		if d.Processors != nil {
			sum = *d.Processors
		}
		d.Processors = &ProcessorSample{sum.Busy + p.Busy, sum.SoftInterrupts + p.SoftInterrupts, sum.Total + p.Total}
	}
}

// Since is what was counted since an earlier sample; nil when nothing is known now.
func (d *DeviceSample) Since(before *DeviceSample) *DeviceSample {
	if d == nil {
		return nil
	}
	if before == nil {
		before = &DeviceSample{}
	}
	out := &DeviceSample{Interfaces: maps.Clone(d.Interfaces)}
	for port, now := range out.Interfaces {
		out.Interfaces[port] = now.Since(before.Interfaces[port])
	}
	if now := d.Processors; now != nil {
		var earlier ProcessorSample
		if before.Processors != nil {
			earlier = *before.Processors
		}
		since := now.Since(earlier)
		out.Processors = &since
	}
	return out
}

// Since is what was counted since an earlier sample.
func (i InterfaceSample) Since(before InterfaceSample) InterfaceSample {
	return InterfaceSample{
		RxFrames: grown(i.RxFrames, before.RxFrames), RxDropped: grown(i.RxDropped, before.RxDropped), RxErrors: grown(i.RxErrors, before.RxErrors),
		TxFrames: grown(i.TxFrames, before.TxFrames), TxDropped: grown(i.TxDropped, before.TxDropped), TxErrors: grown(i.TxErrors, before.TxErrors),
	}
}

// Since is what was spent since an earlier sample.
func (p ProcessorSample) Since(before ProcessorSample) ProcessorSample {
	since := func(now, before time.Duration) time.Duration { return max(0, now-before) }
	return ProcessorSample{since(p.Busy, before.Busy), since(p.SoftInterrupts, before.SoftInterrupts), since(p.Total, before.Total)}
}
