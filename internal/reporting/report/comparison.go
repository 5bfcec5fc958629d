package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/compare"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// Comparison writes the score table of several results.
type Comparison struct {
	*compare.Comparison
	// banner names the simulated results; empty when all results were measured.
	banner string
	// documents that were compared, in their order.
	documents []*Document
	// Links lead to other pages about the results.
	Links []Link
}

// ComparisonFormats lists all formats of a Comparison.
func ComparisonFormats() []Format {
	return []Format{FormatTable, FormatJSON, FormatYAML, FormatMarkdown, FormatHTML}
}

// Compare compares documents, the first of which is the baseline, under the given
// names. It fails on fewer than two, when names are not unique, and when the results are of other
// ports, or have no row in common. Where tests, traffic or kinds of device differ, there is no winner.
func Compare(documents []*Document, names []string) (*Comparison, error) {
	var results []compare.Result
	for i, d := range documents {
		s := compare.Subject{Name: names[i], Namespace: d.Benchmark.Namespace, Benchmark: d.Benchmark.Name, Phase: d.Phase, TestBed: d.TestBed}
		if d.Environment != nil {
			s.Device = d.Environment.Device
		}
		results = append(results, compare.Result{Subject: s, Rows: d.Rows, ResolutionPPM: d.resolutionPPM})
	}
	c, err := compare.Make(results)
	if err != nil {
		return nil, err
	}
	if err := incomparable(documents, names); err != nil {
		return nil, err
	}
	c.Notes = conditions(documents, names, aspects...)
	withoutWinners(c, documents, names)
	return &Comparison{Comparison: c, banner: comparisonBanner(documents, names), documents: documents}, nil
}

// comparisonBanner names the simulated documents; empty when all documents were measured.
func comparisonBanner(documents []*Document, names []string) string {
	var simulated []string
	for i, d := range documents {
		if d.simulated() {
			simulated = append(simulated, names[i])
		}
	}
	switch len(simulated) {
	case 0:
		return ""
	case len(documents):
		return simulatedBanner
	}
	return fmt.Sprintf("SIMULATED: %s: computed from a model, and not measured", strings.Join(simulated, ", "))
}

// resolutionPPM returns the resolution of the load search of a row, in parts per million of
// line rate. It returns 0 (exact) if the load is not a share of a single line rate.
func (d *Document) resolutionPPM(row *v1alpha1.ResultRow) int64 {
	test := d.Spec.Test(row.Test)
	if test == nil {
		return 0
	}
	own, ok := method.DescribeTest(*test)
	if !ok || own.Resolution == nil {
		return 0
	}
	return scaleOf(d.Environment, d.Profile, row.RowID).PPM(own.Resolution(*test))
}

// scaleOf converts rates of a row to shares of line rate. It is empty unless all ports have the
// same speed.
func scaleOf(env *v1alpha1.ResultEnvironment, profile *v1alpha1.TrafficProfileSpec, id v1alpha1.RowID) plan.Scale {
	if env == nil || profile == nil {
		return plan.Scale{}
	}
	var speed v1alpha1.BitRate
	for _, port := range env.Ports {
		if speed != "" && port.Speed != speed {
			return plan.Scale{}
		}
		speed = port.Speed
	}
	return plan.ScaleOf(&v1alpha1.TrafficProfile{Spec: *profile}, id, speed)
}

// aspect is a condition of a measurement.
type aspect struct {
	// name describes a difference.
	name string
	of   func(d *Document, env *v1alpha1.ResultEnvironment) []string
}

// The conditions by their effect: results of other ports are not compared at all, and there is no winner
// where frames, latency or kinds of device differ.
var (
	trafficAspect = aspect{"the traffic differs", func(d *Document, _ *v1alpha1.ResultEnvironment) []string { return []string{d.traffic()} }}
	framesAspect  = aspect{"the traffic differs", func(d *Document, _ *v1alpha1.ResultEnvironment) []string { return []string{d.frames()} }}
	portsAspect   = aspect{"the ports differ", func(_ *Document, env *v1alpha1.ResultEnvironment) []string { return []string{portKinds(env)} }}
	latencyAspect = aspect{"latency is measured differently", func(_ *Document, env *v1alpha1.ResultEnvironment) []string { return []string{env.LatencyType} }}
	kindAspect    = aspect{"the kinds of device differ", func(d *Document, _ *v1alpha1.ResultEnvironment) []string { return []string{kindOfDevice(d)} }}

	aspects = []aspect{
		latencyAspect,
		{"the engines differ", func(_ *Document, env *v1alpha1.ResultEnvironment) []string { return []string{string(env.Engine)} }},
		portsAspect,
		trafficAspect,
		{"the trials differ", func(d *Document, _ *v1alpha1.ResultEnvironment) []string { return d.trialLines() }},
		{"the versions of NoDrop differ", func(_ *Document, env *v1alpha1.ResultEnvironment) []string { return []string{env.NoDropVersion} }},
		kindAspect,
	}
)

// conditions lists the differences between the conditions of the results.
func conditions(documents []*Document, names []string, aspects ...aspect) []string {
	var notes []string
	for _, aspect := range aspects {
		having := map[string]int{}
		all := make([][]string, len(documents))
		for i, d := range documents {
			env := d.Environment
			if env == nil {
				env = &v1alpha1.ResultEnvironment{}
			}
			all[i] = aspect.of(d, env)
			for _, text := range all[i] {
				having[text]++
			}
		}
		// What all have in common is left out.
		var texts []string
		differ := false
		for i, parts := range all {
			parts = slices.DeleteFunc(parts, func(text string) bool { return having[text] == len(documents) })
			differ = differ || len(parts) > 0
			text := strings.Join(parts, "; ")
			if text == "" {
				text = "nothing else"
				if having[""] > 0 {
					text = "not known"
				}
			}
			texts = append(texts, names[i]+": "+text)
		}
		if differ {
			notes = append(notes, aspect.name+": "+strings.Join(texts, "; "))
		}
	}
	return notes
}

func portKinds(env *v1alpha1.ResultEnvironment) string {
	var speeds []string
	for _, port := range env.Ports {
		if !slices.Contains(speeds, string(port.Speed)) {
			speeds = append(speeds, string(port.Speed))
		}
	}
	slices.Sort(speeds)
	if count := max(int(env.PortCount), len(env.Ports)); count > 0 {
		return fmt.Sprintf("%d of %s", count, strings.Join(speeds, ", "))
	}
	return ""
}

func kindOfDevice(d *Document) string {
	if len(d.Rows) == 0 {
		return "nothing measured"
	}
	if d.simulated() {
		return "a model, not measured"
	}
	if slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Validity == v1alpha1.ValidityVirtual }) {
		return "software (Virtual)"
	}
	return "hardware"
}

// Write writes the comparison in a format. The same comparison gives the same bytes.
func (c *Comparison) Write(w io.Writer, format Format) error {
	var text []byte
	var err error
	switch format {
	case FormatJSON:
		text, err = indented(c.Comparison)
	case FormatYAML:
		text, err = yaml.Marshal(c.Comparison)
	case FormatHTML:
		text, err = c.html()
	case FormatMarkdown:
		text = []byte(c.markdown())
	default:
		text = []byte(c.on(layout.PaperOf(w)))
	}
	if err != nil {
		return fmt.Errorf("encoding the comparison as %s: %w", format, err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}
