package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/gate"
	"nodrop.dev/nodrop/internal/reporting/repeated"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// Content is the input of a Document.
type Content struct {
	// Benchmark with its status.
	Benchmark *v1alpha1.Benchmark
	// NamespaceUID is the UID of the benchmark's namespace; empty when it could not be read.
	NamespaceUID string
	// Rows in the order of variants and tests, with each repetition by itself.
	Rows []v1alpha1.ResultRow
	// Environment is the environment that measured the rows; nil when nothing was measured.
	Environment *v1alpha1.ResultEnvironment
	// Profile of the benchmark; nil when it could not be read.
	Profile *v1alpha1.TrafficProfile
	// Bed that was leased; nil when it could not be read.
	Bed *v1alpha1.TestBed
	// ConfigMaps of the device by name.
	ConfigMaps map[string]*corev1.ConfigMap
	// Baselines of gates by the name of the gate, as they were when they were judged.
	Baselines map[string]gate.Baseline
	// Notes contains the information that a reader needs first.
	Notes []string
}

// DeviceFiles are the files of the device that one ConfigMap held.
type DeviceFiles struct {
	// configMap is the name of the ConfigMap in the lab's namespace.
	ConfigMap string `json:"configMap"`
	// files in the order of their names.
	Files []DeviceFile `json:"files"`
}

// DeviceFile is one file of a device: a topology, a device configuration, or a table.
type DeviceFile struct {
	// name of the file, which is its key in the ConfigMap.
	Name string `json:"name"`
	// text of the file; absent when it is not a text.
	Text string `json:"text,omitempty"`
	// data is the content of a file that is not a text, as base64.
	Data []byte `json:"data,omitempty"`
}

// New makes the document of a result. The same content gives the same document.
func New(c Content) *Document {
	status := &c.Benchmark.Status
	single := repeated.Single(c.Rows)
	c.Rows = repeated.Merge(c.Rows)
	d := &Document{
		Schema:         Schema,
		Benchmark:      identityOf(c.Benchmark, c.NamespaceUID),
		Phase:          status.Phase,
		Message:        status.Message,
		TestBed:        status.TestBedName,
		StartTime:      status.StartTime,
		CompletionTime: status.CompletionTime,
		EarlierRuns:    status.EarlierRuns,
		Notes:          c.Notes,
		Spec:           c.Benchmark.Spec,
		Files:          filesOf(c.ConfigMaps),
		Rows:           c.Rows,
		Repetitions:    single,
		Environment:    c.Environment,
		Differences:    compare.Differences(c.Benchmark.Spec.Variants, c.Rows),
	}
	if d.TestBed == "" && status.Resumption != nil {
		d.TestBed = status.Resumption.TestBedName // It ended before it had the bed again.
	}
	d.Spec.TTLSecondsAfterFinished = nil // It can change after the end, and says nothing about the result.
	if status.Results != nil {
		d.Inputs = status.Results.Inputs
	}
	if c.Profile != nil {
		d.Profile = c.Profile.Spec.DeepCopy()
		d.Profile.FrameSizes = c.Profile.Spec.Sizes() // with the default, which the API leaves out
	}
	if c.Bed != nil {
		d.Bed = c.Bed.Spec.DeepCopy()
		d.Bed.Access, d.Bed.Connection = nil, nil
		if d.Bed.Device.Physical != nil {
			// How the lab reaches its devices is not for customers.
			d.Bed.Device.Physical.Management, d.Bed.Device.Physical.Telemetry, d.Bed.Device.Physical.Power = nil, nil, nil
		}
	}
	d.Gates = gate.Judge(c.judged())
	if d.Rows == nil {
		d.Rows = []v1alpha1.ResultRow{}
	}
	if note := goneNote(status, len(c.Rows)); note != "" {
		d.Notes = append([]string{note}, d.Notes...)
	}
	if note := shared(status, c.Bed); note != "" {
		d.Notes = append([]string{note}, d.Notes...)
	}
	if note := preempted(status); note != "" {
		d.Notes = append([]string{note}, d.Notes...)
	}
	if d.simulated() {
		d.Notes = append([]string{simulatedNote}, d.Notes...)
	}
	return d
}

func identityOf(b *v1alpha1.Benchmark, namespaceUID string) Identity {
	return Identity{Namespace: b.Namespace, NamespaceUID: namespaceUID, Name: b.Name, UID: string(b.UID), Labels: ofPeople(b.Labels), Annotations: ofPeople(b.Annotations)}
}

// ofPeople are the labels or annotations that people have given, nil without any: those of
// NoDrop and of kubectl serve machines.
func ofPeople(all map[string]string) map[string]string {
	given := map[string]string{}
	for key, value := range all {
		domain, _, _ := strings.Cut(key, "/")
		if domain != v1alpha1.GroupVersion.Group && domain != "kubectl.kubernetes.io" {
			given[key] = value
		}
	}
	if len(given) == 0 {
		return nil
	}
	return given
}

// filesOf are the files in ConfigMaps, in the order of their names.
func filesOf(configMaps map[string]*corev1.ConfigMap) []DeviceFiles {
	var all []DeviceFiles
	for _, name := range slices.Sorted(maps.Keys(configMaps)) {
		m := configMaps[name]
		files := DeviceFiles{ConfigMap: name, Files: []DeviceFile{}}
		keys := slices.Concat(slices.Collect(maps.Keys(m.Data)), slices.Collect(maps.Keys(m.BinaryData)))
		slices.Sort(keys)
		for _, key := range keys { // no key is in both
			files.Files = append(files.Files, DeviceFile{Name: key, Text: m.Data[key], Data: m.BinaryData[key]})
		}
		all = append(all, files)
	}
	return all
}

// preempted is the note about a benchmark that was not measured in one go; empty about others.
func preempted(s *v1alpha1.BenchmarkStatus) string {
	if s.Preemptions == 0 {
		return ""
	}
	text := "the benchmark was preempted " + layout.Quantity(int64(s.Preemptions), "time") + ": "
	if hidden := int(s.Preemptions) - len(s.EarlierRuns); hidden > 0 {
		text += fmt.Sprintf("the last %d runs before were ", len(s.EarlierRuns))
	}
	runs := make([]string, len(s.EarlierRuns))
	for i, run := range s.EarlierRuns {
		runs[i] = fmt.Sprintf("%s from %s until %s on bed %s", layout.Quantity(int64(run.Rows), "row"),
			run.From.UTC().Format("2006-01-02 15:04:05"), run.Until.UTC().Format("2006-01-02 15:04:05 UTC"), run.TestBedName)
		if run.Discarded != "" {
			runs[i] += " (not counted: " + run.Discarded + ")"
		}
	}
	if s.LeaseTime != nil {
		runs = append(runs, fmt.Sprintf("the rest from %s on bed %s", s.LeaseTime.UTC().Format("2006-01-02 15:04:05 UTC"), s.TestBedName))
	}
	return text + strings.Join(runs, "; ")
}

// maxSharedWith is the maximum number of benchmarks in status.sharedWith.
const maxSharedWith = 16

// shared is the note about a bed that is a port group of its device; empty about others.
func shared(s *v1alpha1.BenchmarkStatus, bed *v1alpha1.TestBed) string {
	if bed == nil || bed.Spec.PortGroup == nil {
		return ""
	}
	text := fmt.Sprintf("the bed is a port group of device %s: ", bed.Spec.PortGroup.Device)
	switch n := len(s.SharedWith); n {
	case 0:
		return text + "no benchmark had another one during the measurement"
	case maxSharedWith:
		return text + layout.Quantity(int64(n), "benchmark") + " or more had others during the measurement: " + strings.Join(s.SharedWith, ", ")
	default:
		return text + layout.Quantity(int64(n), "benchmark") + " had others during the measurement: " + strings.Join(s.SharedWith, ", ")
	}
}

// validities explains the words of the validity column, the best first.
var validities = []struct {
	validity v1alpha1.Validity
	meaning  string
}{
	{v1alpha1.ValidityValid, "a measurement of the device"},
	{v1alpha1.ValidityVirtual, "the device is software on processors that it shares with others: it shows that it works, and is no claim about hardware"},
	{v1alpha1.ValiditySimulated, "the device is a model: the figures were computed, and nothing was measured"},
	{v1alpha1.ValidityUncalibrated, "the tester itself was not measured back to back, or not lately, so its own share of the figures is not known"},
	{v1alpha1.ValidityContended, "others used processor or bed during the trial, or a link or a clock was disturbed, so the figures may be worse than the device is"},
	{v1alpha1.ValidityGeneratorBound, "the tester, not the device, was the limit: the device may be better than the figures"},
	{v1alpha1.ValidityInvalid, "what was to be measured did not happen during the trial, or could not be seen: there is no figure"},
}

// simulatedNote begins every document of a modelled device.
const simulatedNote = "simulated: every figure was computed from a model, and nothing was measured"

// simulatedBanner begins every simulated document, in every format.
const simulatedBanner = "SIMULATED: every figure was computed from a model, and nothing was measured"

// furtherNotes are the notes that no banner says.
func furtherNotes(notes []string) []string {
	return slices.DeleteFunc(slices.Clone(notes), func(text string) bool { return text == simulatedNote })
}

// simulated reports whether the figures come from a model of a device.
func (d *Document) simulated() bool {
	return d.Environment != nil && d.Environment.Engine == v1alpha1.EngineSim ||
		slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Validity == v1alpha1.ValiditySimulated })
}
