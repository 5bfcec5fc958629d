package calibration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Names of conditions that are not fields of a profile or of a bed.
const (
	networkLayer = "network layer"
	sent         = "streams sent"
	received     = "streams received"
)

// conditions collects what a calibration holds for.
type conditions []v1alpha1.CalibrationCondition

func (c *conditions) add(name, of, value string) {
	if value != "" {
		*c = append(*c, v1alpha1.CalibrationCondition{Name: name, Of: of, Value: value})
	}
}

// Conditions lists everything that a trial of a plan has in common with others of the same
// traffic and the same tester, and that the tester's own rate and latency can depend on: the
// headers and the streams of each port, the settings of the engine, kernel and processors of
// each host, and driver, rings and queues of each interface. What is not known is absent.
func Conditions(p plan.Plan, bed *v1alpha1.TestBed, info traffic.Info) []v1alpha1.CalibrationCondition {
	var all conditions
	for i, packet := range p.Packets() {
		name := "packet"
		if i > 0 {
			name = fmt.Sprintf("packet %d", i+1)
		}
		all.add(networkLayer, "", layerOf(packet))
		all.fields(name, packet)
	}
	all.fields("engine", bed.Spec.Engine)
	of := map[string]string{}
	for i := range bed.Spec.Ports {
		of[bed.Spec.Ports[i].Name] = interfaceOf(&bed.Spec.Ports[i])
	}
	named := func(port string) string {
		if of[port] != "" {
			return of[port]
		}
		return port
	}
	all.streams(p, named)
	for _, h := range info.Hosts {
		all.add("kernel", h.Name, h.Kernel)
		all.add("cpu", h.Name, h.CPU)
		all.number("cpus", h.Name, h.CPUs)
		all.add("testerCPUs", h.Name, traffic.CPUList(h.TesterCPUs))
	}
	for _, port := range info.Ports {
		all.card(named(port.Name), port)
	}
	return all
}

// streams adds how many streams each port sends and receives: pattern and direction.
func (c *conditions) streams(p plan.Plan, named func(string) string) {
	sends, receives := map[int]map[string]int{}, map[int]map[string]int{}
	count := func(all map[int]map[string]int, port int, class string) {
		if all[port] == nil {
			all[port] = map[string]int{}
		}
		all[port][class]++
	}
	for _, s := range p.Streams {
		s.Flow, s.InClass = "", "" // The streams of a flow are as any others.
		count(sends, s.Tx, s.Class())
		for _, rx := range s.Rx {
			count(receives, rx, s.Class())
		}
	}
	text := func(n map[string]int) string {
		var parts []string
		for _, class := range slices.Sorted(maps.Keys(n)) {
			parts = append(parts, fmt.Sprintf("%d %s", n[class], class))
		}
		if parts == nil {
			return "none"
		}
		return strings.Join(parts, ", ")
	}
	for i, port := range p.Ports {
		c.add("vlan", named(port.Name), port.VLANs.String())
		c.add(sent, named(port.Name), text(sends[i]))
		c.add(received, named(port.Name), text(receives[i]))
	}
}

// card adds the settings of an interface.
func (c *conditions) card(name string, port traffic.PortInfo) {
	c.add("driver", name, port.Driver)
	card := port.Card
	if card == nil {
		return
	}
	c.add("driverVersion", name, card.DriverVersion)
	c.add("firmware", name, card.Firmware)
	c.add("pcie", name, card.PCIe)
	c.add("interruptCPUs", name, traffic.CPUList(card.InterruptCPUs))
	c.number("receiveRing", name, card.ReceiveRing)
	c.number("transmitRing", name, card.TransmitRing)
	c.add("coalescing", name, card.Coalescing)
	c.number("receiveQueues", name, card.ReceiveQueues)
	if card.ReceiveQueues > 1 {
		c.add("test frames in one queue", name, map[bool]string{true: "yes", false: "no"}[card.TestQueue != nil])
	}
}

func (c *conditions) number(name, of string, n int) {
	if n != 0 {
		c.add(name, of, fmt.Sprint(n))
	}
}

// fields adds each field of an object of the API under its path, so that a new field is
// compared as soon as it exists.
func (c *conditions) fields(path string, object any) {
	text, err := json.Marshal(object)
	if err != nil {
		return
	}
	var value any
	if err := json.Unmarshal(text, &value); err == nil {
		c.flatten(path, value)
	}
}

// first is the field with the first value of a range, such as of UDP ports. The tester sends
// all values alike; only the number of values is compared.
const first = "first"

// longest is the maximum number of bytes of a value that are kept.
const longest = 128

func (c *conditions) flatten(path string, value any) {
	if members, isObject := value.(map[string]any); isObject && len(members) > 0 {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if name == first {
				continue
			}
			c.flatten(path+"."+name, members[name])
		}
		return
	}
	text, _ := json.Marshal(value)
	if len(text) > longest {
		text = text[:longest]
	}
	c.add(path, "", strings.Trim(string(text), `"`))
}

func layerOf(p v1alpha1.Packet) string {
	switch {
	case p.IPv4 != nil:
		return "IPv4"
	case p.IPv6 != nil:
		return "IPv6"
	case p.Ethernet != nil:
		return "none"
	}
	return "custom"
}

// merged lists conditions for storage: one entry where a value is the same everywhere.
func merged(all []v1alpha1.CalibrationCondition) []v1alpha1.CalibrationCondition {
	var out []v1alpha1.CalibrationCondition
	for _, c := range all {
		same := !slices.ContainsFunc(all, func(o v1alpha1.CalibrationCondition) bool { return o.Name == c.Name && o.Value != c.Value })
		if same {
			c.Of = ""
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// values returns the values that a calibration has for a condition of a host or an
// interface.
func values(c *v1alpha1.CalibrationStatus, name, of string) []string {
	var own, all []string
	for _, known := range c.Conditions {
		switch {
		case known.Name != name:
		case known.Of == of:
			own = append(own, known.Value)
		case known.Of == "":
			all = append(all, known.Value)
		}
	}
	if own != nil {
		return own
	}
	return all
}

// ofOtherConditions names the first difference between what was calibrated and what is
// measured.
func ofOtherConditions(u Use) string {
	if len(u.Conditions) == 0 {
		return ""
	}
	name := u.Calibration.TestBedName
	if len(u.Calibration.Conditions) == 0 {
		return fmt.Sprintf("the calibration of test bed %s does not say for which traffic and tester it holds: calibrate again", name)
	}
	for _, own := range u.Conditions {
		theirs := values(u.Calibration, own.Name, own.Of)
		if slices.Contains(theirs, own.Value) {
			continue
		}
		where := ""
		if own.Of != "" {
			where = " of " + own.Of
		}
		was := "none"
		if theirs != nil {
			was = strings.Join(theirs, " and ")
		}
		return fmt.Sprintf("test bed %s was calibrated with %s%s: %s, and this run has %s: %s", name, own.Name, where, was, own.Value, remedy(own.Name))
	}
	for _, theirs := range u.Calibration.Conditions {
		if theirs.Of == "" && !slices.ContainsFunc(u.Conditions, func(own v1alpha1.CalibrationCondition) bool { return own.Name == theirs.Name }) {
			return fmt.Sprintf("test bed %s was calibrated with %s: %s, and this run has none: %s", name, theirs.Name, theirs.Value, remedy(theirs.Name))
		}
	}
	return ""
}

// remedy describes what to do about a condition that differs.
func remedy(name string) string {
	switch {
	case name == sent, name == received:
		return "calibrate again with a profile whose pattern or flows make as many streams on each port"
	case name == networkLayer, strings.HasPrefix(name, "packet"):
		return "calibrate again with a profile that sends the same packets"
	case strings.HasPrefix(name, "engine"):
		return "give both beds the same engine settings, and calibrate again"
	}
	return "set it as it was, or calibrate again"
}
