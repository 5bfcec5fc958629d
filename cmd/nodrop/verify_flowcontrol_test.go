package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/verify"
)

// TestVerifyCountsOfLosslessFabrics changes counts of congestion notification packets and of flow control in a row: each
// difference from the trial that decided it is found.
func TestVerifyCountsOfLosslessFabrics(t *testing.T) {
	sendsNoFrames(t)
	var out, complaints bytes.Buffer
	root := newRootCommand("nodrop")
	root.SetArgs([]string{"run", "-f", filepath.Join(samplesDir, "rocev2", "benchmark.yaml"), "-o", "json"})
	root.SetOut(&out)
	root.SetErr(&complaints)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &complaints)
	}
	for name, change := range map[string]func(*v1alpha1.FrameSection){
		"":                     func(*v1alpha1.FrameSection) {},
		"cnp.sent":             func(f *v1alpha1.FrameSection) { f.CNP.Sent++ },
		"cnp.received":         func(f *v1alpha1.FrameSection) { f.CNP.Received-- },
		"pauseFrames":          func(f *v1alpha1.FrameSection) { f.FlowControl.PauseFrames-- },
		"pfcFrames":            func(f *v1alpha1.FrameSection) { f.FlowControl.PFCFrames++ },
		"frames of a priority": func(f *v1alpha1.FrameSection) { f.FlowControl.PFCPriorities[1].Frames++ },
		"priority":             func(f *v1alpha1.FrameSection) { f.FlowControl.PFCPriorities[1].Priority = 6 },
	} {
		d, err := report.Read(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		row := &d.Rows[len(d.Rows)-1]
		for i := range row.TrialRecords.Trials {
			if r := &row.TrialRecords.Trials[i]; r.Decides {
				r.Figures = append(r.Figures, v1alpha1.TrialFigure{Name: "pauseFrames", Count: 1, Sum: 5, Min: 5, Max: 5},
					v1alpha1.TrialFigure{Name: "pfcFrames3", Count: 1, Sum: 20, Min: 20, Max: 20}, v1alpha1.TrialFigure{Name: "pfcFrames7", Count: 1, Sum: 1, Min: 1, Max: 1})
			}
		}
		row.Frames.FlowControl = &v1alpha1.FlowControlSummary{
			PauseFrames: 5, PFCFrames: 21, PFCPriorities: []v1alpha1.PriorityFrames{{Priority: 3, Frames: 20}, {Priority: 7, Frames: 1}},
		}
		change(row.Frames)
		v := verify.Document(d)
		if v.Holds() != (name == "") || len(v.Unchecked) > 0 {
			t.Errorf("changed %q: unchecked %q, mismatches %+v", name, v.Unchecked, v.Mismatches)
		}
	}
}
