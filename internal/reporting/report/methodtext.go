package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// maxMethodsDescribed is the maximum number of tests that the paragraph about the method describes.
const maxMethodsDescribed = 4

// methodParagraph describes in one paragraph how the result was measured.
func (d *Document) methodParagraph() string {
	var texts []string
	add := func(format string, values ...any) { texts = append(texts, fmt.Sprintf(format, values...)) }
	ports := "The tester sent"
	if all, count := d.ports(); count > 0 {
		ports = fmt.Sprintf("Through %s of %s the tester sent", layout.Quantity(int64(count), "port"), strings.Join(speeds(all), ", "))
	}
	if traffic := d.traffic(); traffic != "" && d.sendsTraffic() {
		add("%s %s.", ports, strings.TrimSuffix(traffic, "."))
	}
	described := 0
	for _, test := range d.Spec.Tests {
		own, ok := method.DescribeTest(test)
		if !ok {
			continue
		}
		if described++; described > maxMethodsDescribed {
			continue
		}
		add("Test %s: %s; %s.", test.Name, strings.TrimSuffix(own.Purpose, "."), strings.TrimSuffix(own.Trials(test), "."))
	}
	if more := described - maxMethodsDescribed; more > 0 {
		add("%s further tests are described below.", layout.Group(int64(more)))
	}
	if d.hasTrials() {
		add("After each trial the tester waits %s before it reads its counters, and %s before the next trial.", layout.Span(d.Spec.SettleTime.Duration), layout.Span(d.Spec.Rest()))
	}
	if text := measured(d.Rows, d.Environment, d.StartTime); text != "" {
		add("Measured: %s.", text)
	}
	return spaced(foldPorts(htmlText(strings.Join(texts, " "))))
}

// sendsTraffic reports whether a test sends the frames of the profile: the hosts of a workload send their own, and some tests send
// frames next to them.
func (d *Document) sendsTraffic() bool {
	return slices.ContainsFunc(d.Spec.Tests, func(t v1alpha1.Test) bool {
		own, ok := method.DescribeTest(t)
		return !ok || !own.Workload || own.SendsNextToHosts(t)
	})
}

// hasTrials reports whether a test has trials with a settle time: a test without test frames may have none.
func (d *Document) hasTrials() bool {
	return slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Trials > 0 }) || slices.ContainsFunc(d.Spec.Tests, func(t v1alpha1.Test) bool {
		own, ok := method.DescribeTest(t)
		return !ok || !own.Frameless
	})
}

// hasFrames reports whether figures of frames may be explained: a row has them, or there is no row.
func (d *Document) hasFrames() bool {
	return len(d.Rows) == 0 || slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Frames != nil })
}

// speeds are the different speeds of ports, in their order.
func speeds(ports []v1alpha1.Port) []string {
	var all []string
	for _, p := range ports {
		if !slices.Contains(all, string(p.Speed)) {
			all = append(all, string(p.Speed))
		}
	}
	return all
}

// maxReasons is the maximum number of reasons against rows that the limits list for a validity.
const maxReasons = 3

// limits describe in plain words what the figures do not show.
func (d *Document) limits() []string {
	var texts []string
	for _, v := range validities {
		var reasons []string
		count := 0
		for _, row := range d.Rows {
			if row.Validity != v.validity {
				continue
			}
			count++
			for _, reason := range row.ValidityReasons {
				if !slices.Contains(reasons, reason) {
					reasons = append(reasons, reason)
				}
			}
		}
		if count == 0 || v.validity == v1alpha1.ValidityValid && count == len(d.Rows) {
			continue
		}
		text := fmt.Sprintf("%s %s: %s.", countOf(count, len(d.Rows)), v.validity, v.meaning)
		if doubtfulValidity(v.validity) && len(reasons) > 0 {
			more := ""
			if n := len(reasons) - maxReasons; n > 0 {
				more = fmt.Sprintf("; and %s", layout.Quantity(int64(n), "more reason"))
			}
			text += " Reasons: " + strings.Join(reasons[:min(len(reasons), maxReasons)], "; ") + more + "."
		}
		texts = append(texts, foldPorts(htmlText(text)))
	}
	if len(d.Rows) > 0 {
		texts = append(texts, fmt.Sprintf("The figures are of %s, in this configuration, with this traffic%s. Other sizes, loads, features and software versions may behave differently.", d.subject(), sizesMeasured(d.Rows)))
	}
	return texts
}

func doubtfulValidity(v v1alpha1.Validity) bool {
	return v != v1alpha1.ValidityValid && v != v1alpha1.ValidityVirtual && v != v1alpha1.ValiditySimulated
}

func countOf(count, all int) string {
	switch {
	case all == 1:
		return "The only row is"
	case count == all && all == 2:
		return "Both rows are"
	case count == all:
		return fmt.Sprintf("All %d rows are", all)
	case count == 1:
		return fmt.Sprintf("1 of %d rows is", all)
	}
	return fmt.Sprintf("%d of %d rows are", count, all)
}

// sizesMeasured names the sizes of the rows; empty for tests without frames.
func sizesMeasured(rows []v1alpha1.ResultRow) string {
	var names []string
	for i := range rows {
		if rows[i].Frames == nil {
			continue
		}
		if name := rows[i].SizeName(); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " and frames of " + listed(names)
}

var durations, durationParts = regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:ms|µs|ns|[hms]))+\b`), regexp.MustCompile(`(\d+(?:\.\d+)?)(ms|µs|ns|[hms])`)

// spaced writes durations with spaces: "3 min 30 s" for "3m30s".
func spaced(text string) string {
	return durations.ReplaceAllStringFunc(text, func(d string) string {
		var parts []string
		for _, part := range durationParts.FindAllStringSubmatch(d, -1) {
			parts = append(parts, part[1]+" "+strings.Replace(part[2], "m", "min", map[bool]int{true: 1}[part[2] == "m"]))
		}
		return strings.Join(parts, " ")
	})
}
