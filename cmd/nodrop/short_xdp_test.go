package main

import (
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// A tester that can send only a fraction of what is asked for ends inconclusive with an
// exit code of its own, and no rate is printed above what left: a bridge between ports of
// 40 Gbit/s, which no software fills with the smallest frames.
func TestRunBeyondTheTester(t *testing.T) {
	needsRoot(t)
	const tests = `  - name: mrr
    soak: {load: 100%, duration: 100ms}
  - name: latency
    latency: {loads: [100%], trialDuration: 100ms}
`
	// Two of the four ports.
	before, rest, _ := strings.Cut(bridgedBed, "  - {name: p3")
	_, rest, _ = strings.Cut(rest, "  policy:")
	bed := strings.ReplaceAll(strings.Replace(before+"  policy:"+rest, "frameSizes: [128]", "frameSizes: [64]", 1), "speed: 100M", "speed: 40G")
	manifest := manifests(t, benchmarkOf(tests), withPattern(bed, "{pairs: {}}", "{ipv4: {}}"))
	p := start(t, "run", "-f", manifest, "-o", "json")
	p.wants(exit.Inconclusive, "", "GeneratorBound")
	document, err := report.Read([]byte(p.stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	if document.Phase != v1alpha1.PhaseInconclusive || !strings.Contains(document.Message, "tests mrr, latency have no conclusive row: mrr 64 B at 100% is GeneratorBound, the tester sent ") {
		t.Errorf("%s: %s", document.Phase, document.Message)
	}
	const intended = "119,047,619"
	for _, format := range []report.Format{report.FormatTable, report.FormatMarkdown, report.FormatHTML, report.FormatJUnit} {
		var text strings.Builder
		if err := document.Write(&text, format); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), intended) {
			t.Errorf("%s has a rate that did not leave", format)
		}
	}
	for _, row := range document.Rows {
		if row.Validity != v1alpha1.ValidityGeneratorBound || row.Frames.FramesPerSecond != 119_047_619 || row.Frames.OfferedFramesPerSecond >= row.Frames.FramesPerSecond/2 {
			t.Errorf("%s: %+v", row.Validity, row.Frames)
		}
		// What left is in the line of the row, which was shown while it ran.
		line := report.RowLine(row)
		if strings.Contains(p.stderr.String(), intended) || !strings.Contains(p.stderr.String(), line) || !strings.Contains(line, "(of an intended 100.0000%)") || strings.Contains(line, " 100.0000% of line rate") {
			t.Errorf("%s\n%s", line, strconv.Quote(p.stderr.String()))
		}
	}
}
