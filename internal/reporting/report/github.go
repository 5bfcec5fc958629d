package report

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// github are workflow commands of GitHub Actions: an error for each row that failed a gate, a
// warning for each that is inconclusive, and how the benchmark ended.
func (d *Document) github() string {
	var b strings.Builder
	command := func(kind, title, message string) {
		fmt.Fprintf(&b, "::%s title=%s::%s\n", kind, githubProperty(title), githubText(message))
	}
	levels := map[v1alpha1.GateVerdict]string{v1alpha1.GateFailed: "error", v1alpha1.GateInconclusive: "warning"}
	for _, g := range d.judged().list() {
		title := fmt.Sprintf("Gate %s %s", g.Name, g.Verdict)
		if g.Message != "" {
			command(levels[g.Verdict], title, g.Message)
		}
		for _, row := range g.Rows {
			if level := levels[row.Verdict]; level != "" {
				command(level, fmt.Sprintf("Gate %s %s", g.Name, row.Verdict), fmt.Sprintf("%s: %s: %s", row.Name(), g.Metric, row.Message))
			}
		}
	}
	level := "error"
	switch d.Phase {
	case v1alpha1.PhasePassed, v1alpha1.PhaseMeasured:
		level = "notice"
	case v1alpha1.PhaseInconclusive, v1alpha1.PhaseAborted:
		level = "warning"
	default:
		if !d.Phase.Finished() {
			level = "warning"
		}
	}
	message := d.Message
	if d.simulated() {
		message = simulatedBanner + ". " + message
	}
	command(level, fmt.Sprintf("Benchmark %s/%s: %s", d.Benchmark.Namespace, d.Benchmark.Name, d.Phase), message)
	return b.String()
}

var (
	githubTexts      = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperties = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func githubText(text string) string     { return githubTexts.Replace(text) }
func githubProperty(text string) string { return githubProperties.Replace(text) }
