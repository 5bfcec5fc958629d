package cardcount

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/safchain/ethtool"
	"k8s.io/utils/cpuset"

	"nodrop.dev/nodrop/internal/base/netif/card"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeCard describes the network card of an interface in the calling thread's network
// namespace; nil where it is on no bus, as virtual interfaces are.
func DescribeCard(name string) (*traffic.Card, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return nil, fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	driver, err := tool.DriverInfo(name)
	if err != nil {
		return nil, fmt.Errorf("asking for the driver of %s: %w", name, err)
	}
	if !OnBus(driver.BusInfo) {
		return nil, nil
	}
	is, err := card.Read(name)
	if err != nil {
		return nil, err
	}
	c := &traffic.Card{DriverVersion: reported(driver.Version), Firmware: reported(driver.FwVersion)}
	if r := is.Rings; r != nil {
		c.ReceiveRing, c.TransmitRing = int(r.RxPending), int(r.TxPending)
	}
	c.Coalescing = coalescing(is.Coalescing)
	c.ReceiveQueues = 1
	if n := is.Channels; n != nil {
		c.ReceiveQueues = max(1, int(n.CombinedCount+n.RxCount))
	}
	if queue, one := is.Spread.Queue(); one {
		c.TestQueue = new(int(queue))
	} else if c.ReceiveQueues == 1 {
		c.TestQueue = new(int)
	}
	c.Pause = pauseUse(is.Pause)
	readBus(c, filepath.Join("/sys/bus/pci/devices", driver.BusInfo))
	return c, nil
}

// OnBus reports whether a driver named the place of a card on a bus. Virtual interfaces
// have none, or name something else.
func OnBus(bus string) bool { return bus != "" && strings.ContainsAny(bus, ":.") }

// reported returns the text of a driver, or an empty one for texts without meaning.
func reported(text string) string {
	if text == "N/A" {
		return ""
	}
	return text
}

// coalescing describes how interrupts are held back.
func coalescing(c *ethtool.Coalesce) string {
	if c == nil {
		return ""
	}
	var parts []string
	for _, d := range []struct {
		name                    string
		adaptive, usecs, frames uint32
	}{
		{"receive", c.UseAdaptiveRxCoalesce, c.RxCoalesceUsecs, c.RxMaxCoalescedFrames},
		{"transmit", c.UseAdaptiveTxCoalesce, c.TxCoalesceUsecs, c.TxMaxCoalescedFrames},
	} {
		text := fmt.Sprintf("%s %d µs", d.name, d.usecs)
		if d.frames > 0 {
			text += fmt.Sprintf(" or %d frames", d.frames)
		}
		if d.adaptive != 0 {
			text = d.name + " adaptive"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func pauseUse(p *ethtool.Pause) string {
	switch {
	case p == nil:
		return ""
	case p.RxPause != 0 && p.TxPause != 0:
		return "receive and send"
	case p.RxPause != 0:
		return "receive"
	case p.TxPause != 0:
		return "send"
	}
	return "off"
}

// readBus reads the files of a PCI device: its link, its NUMA node and its interrupts. What
// cannot be read is left out.
func readBus(c *traffic.Card, dir string) {
	speed, width := Line(dir, "current_link_speed"), Line(dir, "current_link_width")
	if speed != "" && width != "" && !strings.HasPrefix(speed, "Unknown") && width != "0" {
		c.PCIe = speed + " x" + width
	}
	if node, err := strconv.Atoi(Line(dir, "numa_node")); err == nil && node >= 0 {
		c.NUMANode = &node
	}
	interrupts, err := os.ReadDir(filepath.Join(dir, "msi_irqs"))
	if err != nil {
		return
	}
	for _, i := range interrupts {
		served := Line("/proc/irq", i.Name(), "effective_affinity_list")
		if list, err := cpuset.Parse(served); err == nil {
			c.InterruptCPUs = append(c.InterruptCPUs, list.List()...)
		}
	}
	slices.Sort(c.InterruptCPUs)
	c.InterruptCPUs = slices.Compact(c.InterruptCPUs)
}

// Line is the text of a file without spaces around it; empty where it cannot be read.
func Line(path ...string) string {
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
