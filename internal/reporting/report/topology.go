package report

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

const (
	// maxPortsDrawn is the maximum number of ports that a drawing shows one by one.
	maxPortsDrawn = 8
	// portPitch is the distance of the cables of a drawing in pixels.
	portPitch = 30
	// maxBoxText is the maximum number of characters in a line of a box.
	maxBoxText = 26
)

// topology is a drawing of the test bed: the tester, the device, and a cable for each port.
type topology struct {
	Description      string
	Width, Height    int
	BoxTop, BoxEnd   int
	BoxHeight        int
	Tester, Device   []boxLine
	Cables           []cable
	WithoutDevice    bool
	Left, Right, Box int
}

// boxLine is a line of text in a box; the first one is its title.
type boxLine struct {
	Text string
	Y    int
}

type cable struct {
	Y, LabelY int
	Label     string
	// More is true for the place of the ports that are not drawn.
	More bool
}

// topology draws the bed; nil if it is not known.
func (d *Document) topology() *topology {
	ports, count := d.ports()
	if d.Bed == nil || count < 2 {
		return nil
	}
	t := &topology{Width: 760, Box: 188, Left: 189, Right: 571, BoxTop: 4}
	labels := make([]string, len(ports))
	for i, p := range ports {
		labels[i] = p.Name + " · " + string(p.Speed)
		if p.VLAN != nil {
			labels[i] += fmt.Sprintf(" · VLAN %d", p.VLAN.ID)
		}
	}
	drawn, more := labels, 0
	if count > maxPortsDrawn {
		more = count - maxPortsDrawn + 2
		drawn = append(slices.Clone(labels[:maxPortsDrawn-2]), layout.Quantity(int64(more-1), "more port"), labels[len(labels)-1])
	}
	for i, label := range drawn {
		y := t.BoxTop + 24 + i*portPitch
		t.Cables = append(t.Cables, cable{Y: y, LabelY: y - 5, Label: label, More: more > 0 && i == maxPortsDrawn-2})
	}
	t.BoxEnd = max(t.BoxTop+80, t.BoxTop+24+(len(drawn)-1)*portPitch+18)
	t.BoxHeight, t.Height = t.BoxEnd-t.BoxTop, t.BoxEnd+4
	kind, name := device.Drawn(d.Bed.Device)
	t.WithoutDevice = d.Bed.Device.BackToBack != nil
	engine := ""
	if d.Environment != nil {
		engine = string(d.Environment.Engine)
	}
	t.Tester = boxLines("Tester", after("engine ", engine), layout.Quantity(int64(count), "port"))
	t.Device = boxLines(kind, name, d.TestBed)
	t.Description = fmt.Sprintf("The tester is connected to the device by %s: %s. Device: %s.", layout.Quantity(int64(count), "port"), strings.Join(drawn, ", "), strings.TrimSpace(kind+" "+name))
	if t.WithoutDevice {
		t.Description = fmt.Sprintf("The ports of the tester are joined without a device: %s.", strings.Join(drawn, ", "))
	}
	return t
}

// ports are the ports of the bed, and their number. Of a modelled bed with very many, the result has
// only the first and the last ones.
func (d *Document) ports() ([]v1alpha1.Port, int) {
	if d.Bed != nil && len(d.Bed.Ports) > 0 {
		return d.Bed.Ports, len(d.Bed.Ports)
	}
	if d.Environment == nil {
		return nil, 0
	}
	var ports []v1alpha1.Port
	for _, p := range d.Environment.Ports {
		ports = append(ports, v1alpha1.Port{Name: p.Name, Speed: p.Speed})
	}
	return ports, max(len(ports), int(d.Environment.PortCount))
}

// boxLines are the texts of a box without empty ones, one below the other.
func boxLines(texts ...string) []boxLine {
	var lines []boxLine
	for _, text := range texts {
		if text != "" {
			lines = append(lines, boxLine{human.Cut(text, maxBoxText), 28 + 18*len(lines)})
		}
	}
	return lines
}
