package agent

import (
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

func deviceToWire(d *traffic.DeviceSample) *agentpb.DeviceSample {
	if d == nil {
		return nil
	}
	w := &agentpb.DeviceSample{}
	for port, c := range d.Interfaces {
		w.Interfaces = append(w.Interfaces, &agentpb.InterfaceSample{
			Port: port, RxFrames: c.RxFrames, RxDropped: c.RxDropped, RxErrors: c.RxErrors,
			TxFrames: c.TxFrames, TxDropped: c.TxDropped, TxErrors: c.TxErrors,
		})
	}
	if p := d.Processors; p != nil {
		w.Processors = &agentpb.ProcessorSample{BusyNanos: int64(p.Busy), SoftInterruptsNanos: int64(p.SoftInterrupts), TotalNanos: int64(p.Total)}
	}
	return w
}

func deviceFromWire(w *agentpb.DeviceSample) *traffic.DeviceSample {
	if w == nil {
		return nil
	}
	d := &traffic.DeviceSample{}
	for _, c := range w.GetInterfaces() {
		traffic.Put(&d.Interfaces, c.GetPort(), traffic.InterfaceSample{
			RxFrames: c.GetRxFrames(), RxDropped: c.GetRxDropped(), RxErrors: c.GetRxErrors(),
			TxFrames: c.GetTxFrames(), TxDropped: c.GetTxDropped(), TxErrors: c.GetTxErrors(),
		})
	}
	if p := w.GetProcessors(); p != nil {
		d.Processors = &traffic.ProcessorSample{
			Busy: time.Duration(p.GetBusyNanos()), SoftInterrupts: time.Duration(p.GetSoftInterruptsNanos()), Total: time.Duration(p.GetTotalNanos()),
		}
	}
	return d
}
