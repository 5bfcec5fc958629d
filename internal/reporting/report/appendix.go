package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/calibration"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// maxPortsListed is the maximum number of ports that the appendix lists. More ports are
// summarized in one line.
const maxPortsListed = 8

// appendix returns the conditions under which the result was measured, so that others can
// repeat the measurement.
func (d *Document) appendix() *entries {
	a := &entries{}
	env := d.Environment
	if env == nil {
		env = &v1alpha1.ResultEnvironment{}
	}
	a.add("Device", env.Device)
	a.addFacts(env.DeviceFacts)
	a.addConfiguration("", env.Configuration)
	for _, v := range env.Variants {
		a.add("Variants", fmt.Sprintf("%s: %s", v.Name, v.Device))
		a.addConfiguration(string(v.Name)+": ", v.Configuration)
	}
	if d.Bed != nil && d.Bed.Device.Physical != nil {
		serial := d.Bed.Device.Physical.SerialNumber
		if f := env.DeviceFacts; f != nil && f.SerialNumber != "" && serial != "" && serial != f.SerialNumber {
			serial += " in the bed, and the device reports another one: correct spec.device.physical.serialNumber, or the address of the telemetry"
		}
		a.add("Serial number", serial)
		a.add("Configuration", d.Bed.Device.Physical.ConfigurationDigest)
	}
	a.add("Bed", d.TestBed)
	engine := string(env.Engine)
	if env.EngineDetail != "" {
		engine += ": " + env.EngineDetail
	}
	a.add("Engine", engine)
	if d.hasFrames() {
		a.add("Latency", env.LatencyType)
	}
	if d.sendsTraffic() {
		a.add("Traffic", d.traffic())
	}
	a.add("Full load", d.fullLoad())
	for _, trial := range d.trialLines() {
		a.add("Trials", trial)
	}
	for _, port := range portLines(env.Ports, int(env.PortCount)) {
		a.add("Ports", port)
	}
	for _, card := range cardLines(env.Ports) {
		a.add("Cards", card)
	}
	for _, host := range env.Hosts {
		a.add("Hosts", hostLine(host))
		a.add("Processors", processorsLine(host))
		a.add("Clocks", clockLine(host))
	}
	for _, line := range calibrated(d.Environment, d.TestBed, d.StartTime) {
		a.add("Calibration", line)
	}
	a.add("Measured", measured(d.Rows, d.Environment, d.StartTime))
	version := ""
	if env.NoDropVersion != "" {
		version = "NoDrop " + env.NoDropVersion
	}
	a.add("By", version)
	if who := d.Spec.Attribution; who != nil {
		a.add("Operator", who.Operator)
		a.add("Customer", who.Customer)
	}
	a.addPairs("Labels", d.Benchmark.Labels)
	a.addPairs("Annotations", d.Benchmark.Annotations)
	return a
}

// addFacts adds what the device reports that it is; nothing where it is not read.
func (e *entries) addFacts(f *v1alpha1.DeviceFacts) {
	if f == nil {
		return
	}
	var texts []string
	for _, part := range []struct{ name, text string }{{"", f.Model}, {"software ", f.Software}, {"serial number ", f.SerialNumber}} {
		if part.text != "" {
			texts = append(texts, part.name+part.text)
		}
	}
	if f.UpSeconds > 0 {
		texts = append(texts, "up for "+human.Duration(time.Duration(f.UpSeconds)*time.Second))
	}
	e.add("Device reports", strings.Join(texts, ", "))
	e.add("Device reports", f.Description)
	for _, m := range f.Modules {
		e.add("Device reports", m)
	}
}

// addConfiguration adds what NoDrop gave the device, and what the device said; nothing where people configured it.
func (e *entries) addConfiguration(of string, c *v1alpha1.DeviceConfiguration) {
	if c == nil {
		return
	}
	text := of + c.Digest + ", which the device had"
	if c.Commands > 0 {
		text = fmt.Sprintf("%s%s, by %s in %s", of, c.Digest, layout.Quantity(int64(c.Commands), "command"), human.Duration(time.Duration(c.DurationMs)*time.Millisecond))
	}
	if c.Sessions > 1 {
		text += fmt.Sprintf(" and %d sessions: the connection was lost", c.Sessions)
	}
	e.add("Configuration", text)
	if c.Software != "" {
		e.add("Software", of+c.Software+", as the device reports it")
	}
	for _, line := range c.Drift {
		e.add("Device before", of+"differs from its base: "+line)
	}
	for _, answer := range c.Answers {
		e.add("Answers of the device", of+answer)
	}
}

// entries are lines of a name and a text; a name that is repeated is written once.
type entries struct {
	lines [][2]string
}

func (e *entries) add(name, text string) {
	if text != "" {
		e.lines = append(e.lines, [2]string{name, text})
	}
}

// addPairs adds a line for each pair, in the order of the keys.
func (e *entries) addPairs(name string, pairs map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		e.add(name, key+": "+pairs[key])
	}
}

func (e *entries) on(p layout.Paper) string {
	width := 0
	for _, l := range e.lines {
		width = max(width, len(l[0]))
	}
	var b strings.Builder
	for i, l := range e.lines {
		name := l[0]
		if i > 0 && e.lines[i-1][0] == name {
			name = ""
		}
		indent := strings.Repeat(" ", width+len(layout.Gap))
		text := p.Wrap(l[1], indent)
		b.WriteString(layout.Pad(name, width, true) + text[width:])
	}
	return b.String()
}

// trialLines describes lengths and bounds of the trials, one line per test.
func (d *Document) trialLines() []string {
	var parts []string
	for _, test := range d.Spec.Tests {
		if own, ok := method.DescribeTest(test); ok {
			parts = append(parts, test.Name+": "+own.Trials(test))
		}
	}
	if !d.hasTrials() {
		return parts
	}
	return append(parts, fmt.Sprintf("every trial: %s to settle before counters are read, then %s of rest",
		layout.Span(d.Spec.SettleTime.Duration), layout.Span(d.Spec.Rest())))
}

// portLines describes the ports; a status lists only the first of very many.
func portLines(ports []v1alpha1.PortEnvironment, count int) []string {
	count = max(count, len(ports))
	if len(ports) > maxPortsListed {
		var speeds []string
		for _, port := range ports {
			if !slices.Contains(speeds, string(port.Speed)) {
				speeds = append(speeds, string(port.Speed))
			}
		}
		names := ports[0].Name + " to " + ports[len(ports)-1].Name
		if count > len(ports) {
			names = ports[0].Name + ", " + ports[1].Name + " and so on"
		}
		return []string{fmt.Sprintf("%d of %s: %s", count, strings.Join(speeds, ", "), names)}
	}
	var lines []string
	for _, port := range ports {
		parts := []string{string(port.Speed)}
		if port.Interface != "" && port.Interface != port.Name {
			parts = append(parts, port.Interface)
		}
		if port.Driver != "" {
			parts = append(parts, port.Driver)
		}
		if port.MAC != "" {
			parts = append(parts, port.MAC)
		}
		if port.VLAN != "" {
			parts = append(parts, port.VLAN)
		}
		parts = append(parts, port.Addresses...)
		lines = append(lines, port.Name+": "+strings.Join(parts, ", "))
	}
	return lines
}

func hostLine(host v1alpha1.HostEnvironment) string {
	var parts []string
	if host.Kernel != "" {
		parts = append(parts, "Linux "+strings.TrimPrefix(host.Kernel, "Linux "))
	}
	if host.CPU != "" {
		parts = append(parts, host.CPU)
	}
	if host.CPUs > 0 {
		parts = append(parts, layout.Quantity(int64(host.CPUs), "CPU"))
	}
	return human.Join(": ", host.Name, strings.Join(parts, ", "))
}

// clockLine describes how right rates are: as right as the clock of the host. It is empty if the
// clock is not known.
func clockLine(host v1alpha1.HostEnvironment) string {
	c := host.Clock
	if c == nil {
		return ""
	}
	sign := "+"
	if c.Slowed {
		sign = "-"
	}
	text := fmt.Sprintf("frequency adjusted by %s%s ppm", sign, layout.Fixed(c.AdjustmentPPB, 1000, 3))
	if c.Synchronized {
		text += fmt.Sprintf(", synchronized to a time source, maximum error %s", trials.TimeText(c.MaxErrorNs))
	} else {
		text += ", not synchronized: rates are as right as the oscillator of the machine"
	}
	return human.Join(": ", host.Name, text)
}

// processorsLine returns the host processors that the tester and the virtual device used;
// empty if they are not known.
func processorsLine(host v1alpha1.HostEnvironment) string {
	switch {
	case host.DeviceCPUs != "":
		return human.Join(": ", host.Name, fmt.Sprintf("the tester sent on %s, and the device worked on %s", host.TesterCPUs, host.DeviceCPUs))
	case host.Together != "":
		return human.Join(": ", host.Name, fmt.Sprintf("tester and device together on %s, so that their limit is that of both, because %s", host.TesterCPUs, host.Together))
	}
	return ""
}

// measured sums up how long the measurement took.
func measured(rows []v1alpha1.ResultRow, env *v1alpha1.ResultEnvironment, start *metav1.Time) string {
	if len(rows) == 0 {
		return ""
	}
	var trials, ms int64
	for _, row := range rows {
		trials += int64(row.Trials)
		ms += row.ElapsedMilliseconds
	}
	text := layout.Quantity(int64(len(rows)), "row")
	if trials > 0 {
		text += " in " + layout.Quantity(trials, "trial")
	}
	if ms > 0 {
		text += ", " + layout.Span(milliseconds(ms))
		if env != nil && env.Engine == v1alpha1.EngineSim {
			text += " of simulated time"
		}
	}
	if start != nil {
		text += ", from " + start.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return text
}

// entry is a name and all texts that were added under it in a row.
type entry struct {
	name  string
	texts []string
}

func (e *entries) merged() []entry {
	var all []entry
	for i, l := range e.lines {
		if i == 0 || e.lines[i-1][0] != l[0] {
			all = append(all, entry{name: l[0]})
		}
		last := &all[len(all)-1]
		last.texts = append(last.texts, l[1])
	}
	return all
}

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

// joins describes how the ports of a bed without a device were connected.
var joins = map[v1alpha1.BackToBackJoin]string{
	v1alpha1.JoinedByLoops:  "joined at the tester, without the bed's cables",
	v1alpha1.JoinedByCables: "joined by the bed's cables",
}

// calibrated returns the calibration of the tester of a bed: the benchmark that measured it, its age,
// and for every frame size the highest rate and the minimum latency. It returns nil without
// calibration.
func calibrated(env *v1alpha1.ResultEnvironment, testBed string, start *metav1.Time) []string {
	if env == nil || env.Calibration == nil {
		return nil
	}
	c := env.Calibration
	of := "ports " + joins[c.JoinedBy]
	if c.TestBedName != testBed {
		of = fmt.Sprintf("bed %s, %s", c.TestBedName, of)
	}
	text := fmt.Sprintf("%s; by benchmark %s on %s with engine %s of NoDrop %s", of, c.Benchmark,
		c.Time.UTC().Format("2006-01-02 15:04 UTC"), calibration.EngineOf(c), c.NoDropVersion)
	if start != nil && start.After(c.Time.Time) {
		text += ", " + calibration.Age(start.Sub(c.Time.Time)) + " before this one"
	}
	lines := []string{text}
	for _, f := range c.FrameSizes {
		limit := "up to"
		if f.UpperBoundPPM == 0 && f.LineRatePPM < v1alpha1.PPM {
			limit = "at least" // nothing above it was tried
		}
		line := fmt.Sprintf("%d B: %s %s of line rate, %s frames/s", f.FrameSize, limit, v1alpha1.FormatPPM(f.LineRatePPM), layout.Group(f.FramesPerSecond))
		if l := f.Latency; l != nil {
			line += fmt.Sprintf("; at %s latency %s / %s / %s µs (min / avg / max)",
				v1alpha1.FormatPPM(f.LatencyLoadPPM), layout.Micros(l.MinNs), layout.Micros(l.AvgNs), layout.Micros(l.MaxNs))
			if l.JitterAvgNs != nil {
				line += fmt.Sprintf(", jitter %s / %s µs (avg / max)", jitterCell(l.JitterAvgNs), jitterCell(l.JitterMaxNs))
			}
		}
		if r := f.ReorderedPPM; r != nil && *r > 0 {
			line += fmt.Sprintf("; up to %s of the frames reordered", v1alpha1.FormatPPM(*r))
		}
		lines = append(lines, line)
	}
	return lines
}
