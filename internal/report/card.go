package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// cardLine describes the network card of a port; empty for none.
func cardLine(c *v1alpha1.CardEnvironment) string {
	if c == nil {
		return ""
	}
	var parts []string
	add := func(known bool, format string, values ...any) {
		if known {
			parts = append(parts, fmt.Sprintf(format, values...))
		}
	}
	add(c.DriverVersion != "", "driver %s", c.DriverVersion)
	add(c.Firmware != "", "firmware %s", c.Firmware)
	add(c.PCIe != "", "%s", c.PCIe)
	if c.NUMANode != nil {
		add(true, "NUMA node %d", *c.NUMANode)
	}
	add(c.InterruptCPUs != "", "interrupts on processors %s", c.InterruptCPUs)
	add(c.ReceiveRing > 0 || c.TransmitRing > 0, "rings of %d (receive) and %d (transmit)", c.ReceiveRing, c.TransmitRing)
	add(c.Coalescing != "", "coalescing: %s", c.Coalescing)
	switch {
	case c.TestQueue != nil:
		add(true, "test frames in queue %d of %d", *c.TestQueue, c.ReceiveQueues)
	default:
		add(c.ReceiveQueues > 1, "test frames in %d queues", c.ReceiveQueues)
	}
	add(c.Pause != "", "pause frames: %s", c.Pause)
	return strings.Join(parts, ", ")
}

// cardLines describes the cards of the ports. Ports with the same description share a line.
func cardLines(ports []v1alpha1.PortEnvironment) []string {
	if len(ports) > maxPortsListed {
		return nil
	}
	names := map[string][]string{}
	var all []string
	for _, p := range ports {
		card := cardLine(p.Card)
		if card == "" {
			continue
		}
		if names[card] == nil {
			all = append(all, card)
		}
		names[card] = append(names[card], p.Name)
	}
	for i, card := range all {
		all[i] = strings.Join(names[card], ", ") + ": " + card
	}
	return all
}
