package traffic

import (
	"maps"
	"time"
)

// DeviceSample contains what a software device on the tester's machines has counted since the
// current trial was prepared.
type DeviceSample struct {
	// Interfaces of the device by the port that they are cabled to; those whose counters
	// cannot be read are missing.
	Interfaces map[string]InterfaceSample
	// Processors that the device has of its own; nil when it has none.
	Processors *ProcessorSample
}

// InterfaceSample contains the frame counters of an interface. It has no byte counters: a veth
// counts some frames without their Ethernet header.
type InterfaceSample struct {
	RxFrames, RxDropped, RxErrors uint64
	TxFrames, TxDropped, TxErrors uint64
}

// ProcessorSample is time of processors, added up. The kernel counts it in ticks of 10 ms.
type ProcessorSample struct {
	// Busy is the part of Total in which the processors were not idle. SoftInterrupts is
	// the part of Busy in soft interrupts, in which the kernel forwards frames.
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

// Since returns the counts since an earlier sample, or nil if d is nil.
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

// Since returns the counts since an earlier sample.
func (i InterfaceSample) Since(before InterfaceSample) InterfaceSample {
	return InterfaceSample{
		RxFrames: grown(i.RxFrames, before.RxFrames), RxDropped: grown(i.RxDropped, before.RxDropped), RxErrors: grown(i.RxErrors, before.RxErrors),
		TxFrames: grown(i.TxFrames, before.TxFrames), TxDropped: grown(i.TxDropped, before.TxDropped), TxErrors: grown(i.TxErrors, before.TxErrors),
	}
}

// Since returns the processor time spent since an earlier sample.
func (p ProcessorSample) Since(before ProcessorSample) ProcessorSample {
	since := func(now, before time.Duration) time.Duration { return max(0, now-before) }
	return ProcessorSample{since(p.Busy, before.Busy), since(p.SoftInterrupts, before.SoftInterrupts), since(p.Total, before.Total)}
}
