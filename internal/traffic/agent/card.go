package agent

import (
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
)

func cardToWire(c *traffic.Card) *agentpb.Card {
	if c == nil {
		return nil
	}
	return &agentpb.Card{
		DriverVersion: c.DriverVersion, Firmware: c.Firmware, Pcie: c.PCIe,
		NumaNode: optionalTo[int64](c.NUMANode), InterruptCpus: integers[int64](c.InterruptCPUs),
		ReceiveRing: int64(c.ReceiveRing), TransmitRing: int64(c.TransmitRing), Coalescing: c.Coalescing,
		ReceiveQueues: int64(c.ReceiveQueues), TestQueue: optionalTo[int64](c.TestQueue), Pause: c.Pause,
	}
}

func cardFromWire(w *agentpb.Card) *traffic.Card {
	if w == nil {
		return nil
	}
	return &traffic.Card{
		DriverVersion: w.GetDriverVersion(), Firmware: w.GetFirmware(), PCIe: w.GetPcie(),
		NUMANode: optionalTo[int](w.NumaNode), InterruptCPUs: integers[int](w.GetInterruptCpus()),
		ReceiveRing: int(w.GetReceiveRing()), TransmitRing: int(w.GetTransmitRing()), Coalescing: w.GetCoalescing(),
		ReceiveQueues: int(w.GetReceiveQueues()), TestQueue: optionalTo[int](w.TestQueue), Pause: w.GetPause(),
	}
}

// optionalTo is a number of another type; nil for nil.
func optionalTo[To, From int | int64](n *From) *To {
	if n == nil {
		return nil
	}
	to := To(*n)
	return &to
}
