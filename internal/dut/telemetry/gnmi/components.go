package gnmi

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// component is a part of a device: the chassis, a power supply, a transceiver.
type component struct {
	name   string
	leaves []leaf
}

// components returns the parts of the device by their names.
func (r *Reader) components(ctx context.Context) ([]component, error) {
	path := gnmiaccess.With(gnmiaccess.Path("components", "component"), "name", "*")
	found, err := r.group(ctx, path)
	if err != nil {
		return nil, err
	}
	by := map[string][]leaf{}
	for _, l := range found {
		if name := l.key("component", "name"); name != "" {
			by[name] = append(by[name], l)
		}
	}
	var out []component
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, component{name, by[name]})
	}
	return out, nil
}

// sensors of components, by the end of their paths.
var sensors = []struct{ path, what, unit string }{
	{"/state/temperature/instant", "temperature", "°C"},
	{"/cpu/utilization/state/instant", "load", "%"},
	{"/state/used-power", "power", "W"},
	{"/power-supply/state/input-power", "input power", "W"},
	{"/power-supply/state/output-power", "output power", "W"},
	{"/fan/state/speed", "speed", "rpm"},
	{"/state/input-power/instant", "received light", "dBm"},
	{"/state/output-power/instant", "sent light", "dBm"},
}

// sense adds the sensors of a component.
func (c component) sense(out *telemetry.Reading) {
	for _, l := range c.leaves {
		path := l.names()
		for _, s := range sensors {
			if v, is := l.number(); is && strings.HasSuffix(path, s.path) {
				out.Sense(c.name+" "+s.what, v, s.unit)
			}
		}
	}
}

// leaf returns a leaf of the state of a component; empty without it.
func (c component) leaf(name string) string {
	for _, l := range c.leaves {
		if l.name() == name && l.parent() == "state" {
			return gnmiaccess.Local(l.text())
		}
	}
	return ""
}

// describe adds what a component is.
func (c component) describe(out *telemetry.Facts) {
	switch c.leaf("type") {
	case "CHASSIS":
		out.Model = cmp.Or(out.Model, c.leaf("part-no"), c.leaf("description"))
		out.SerialNumber = cmp.Or(out.SerialNumber, c.leaf("serial-no"))
		out.Software = cmp.Or(out.Software, c.leaf("software-version"))
		out.BootReason = cmp.Or(out.BootReason, c.leaf("last-reboot-reason"))
	case "TRANSCEIVER", "POWER_SUPPLY", "LINECARD":
		if c.leaf("part-no") == "" {
			return
		}
		module := c.name + ": " + c.leaf("part-no")
		if serial := c.leaf("serial-no"); serial != "" {
			module += ", serial number " + serial
		}
		out.Modules = append(out.Modules, module)
	}
}
