package main

import (
	"errors"
	"fmt"
	"os"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// calibrationNotes returns a note if the run did not use the calibration that the bed names,
// because it is stored with another bed of a cluster.
func calibrationNotes(bed *v1alpha1.TestBed, given *v1alpha1.CalibrationStatus) []string {
	if bed.Spec.Calibration == nil || given != nil {
		return nil
	}
	return []string{fmt.Sprintf("this run had no cluster, which stores the calibration of bed %[2]s that spec.calibration of test bed %[1]s names: none was used; "+
		"give a result of bed %[2]s with --calibration", bed.Name, bed.Spec.Calibration.TestBedName)}
}

// readCalibration reads what a benchmark on a bed without a device has found of
// the tester; nil without a file.
func readCalibration(file string) (*v1alpha1.CalibrationStatus, error) {
	if file == "" {
		return nil, nil
	}
	const advice = "nodrop run -f CALIBRATION.yaml -o json --output-file FILE writes one, with a bed that has device backToBack"
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading the calibration: %w", err), advice)
	}
	document, err := report.Read(text)
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading the calibration %s: %w", file, err), advice)
	}
	switch env := document.Environment; {
	case env == nil || env.Calibration == nil:
		err = errors.New("it is the result of a bed with a device, or of a benchmark that did not pass: it says nothing of the tester by itself")
	case env.Calibration.TestBedName != document.TestBed:
		err = fmt.Errorf("it is the result of bed %s, which has a device: give that of bed %s, which calibrated it", document.TestBed, env.Calibration.TestBedName)
	default:
		return env.Calibration, nil
	}
	return nil, hint.With(fmt.Errorf("calibration %s: %w", file, err), advice)
}
