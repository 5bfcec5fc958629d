package plan

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// Setting is in what a test is run.
type Setting struct {
	// Bed on which it is run.
	Bed *v1alpha1.TestBed
	// Profile is the name of the traffic profile.
	Profile string
	// Engine contains the capabilities of the bed's engine.
	Engine traffic.Capabilities
	// Ports of the bed, and the streams that the profile makes between them.
	Ports   []Port
	Streams []Stream
	// Sessions of the bed, and what they announce.
	Sessions      []Session
	Announcements []Announcement
}

// validateSetting refuses tests that do not fit the traffic or the bed.
func validateSetting(b *v1alpha1.Benchmark, in Setting) field.ErrorList {
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok && m.Fits != nil {
			errs = append(errs, m.Fits(test, in, field.NewPath("spec", "tests").Index(i).Child(m.Member))...)
		}
	}
	return errs
}
