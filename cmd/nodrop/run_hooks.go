package main

import (
	"fmt"
	"io"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// skipHooks prints that the hooks of a bed do not run here, and returns the note for the result: a hook may bring the image
// that the device would be measured with.
func skipHooks(stderr io.Writer, bed *v1alpha1.TestBed) []string {
	hooks := bed.Spec.Hooks
	if hooks == nil {
		return nil
	}
	fmt.Fprintf(stderr, "nodrop: hooks of bed %s are not run on one machine (%d before the run, %d after it): prepare the device and clean it up yourself\n",
		bed.Name, len(hooks.BeforeLease), len(hooks.AfterLease))
	return []string{fmt.Sprintf("the hooks of bed %s did not run: the device was as people had left it", bed.Name)}
}
