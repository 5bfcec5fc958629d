package calibration

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Use describes the measurement for which a calibration is used.
type Use struct {
	// Bed with the device, and the calibration of the bed that it refers to; nil when
	// there is none.
	Bed         *v1alpha1.TestBed
	Calibration *v1alpha1.CalibrationStatus
	// Time at which the calibration must not be too old.
	Time time.Time
	// Version of NoDrop that measures.
	Version string
	// FrameSizes of the result, in bytes with FCS: more than one for a mix.
	FrameSizes []int32
	// Conditions of the traffic and the tester (Conditions).
	Conditions []v1alpha1.CalibrationCondition
}

// doubt is a reason not to rely on a calibration, with what to do about it; ""
// means none.
type doubt func(Use) string

// doubts in their order: each may rely on those before it.
var doubts = []doubt{notAskedFor, notThere, ofOtherPorts, tooOld, ofAnotherEngine, ofAnotherVersion, withoutThisSize, ofOtherConditions}

// Doubt is the first reason not to rely on the calibration for a result, with what
// to do about it; "" when there is none.
func Doubt(u Use) string {
	for _, d := range doubts {
		if text := d(u); text != "" {
			return text
		}
	}
	return ""
}

func notAskedFor(u Use) string {
	if u.Bed.Spec.Calibration != nil {
		return ""
	}
	return "the bed was not measured back to back, so the tester's own share of rate and latency is not known: measure its ports on a bed with device backToBack, and name that one in spec.calibration.testBedName"
}

func notThere(u Use) string {
	if u.Calibration != nil {
		return ""
	}
	return fmt.Sprintf("test bed %s, which spec.calibration.testBedName names, holds no calibration: it must exist with device backToBack, and a benchmark with a throughput and a latency test must have run on it", u.Bed.Spec.Calibration.TestBedName)
}

func ofOtherPorts(u Use) string {
	for i := range u.Bed.Spec.Ports {
		p := &u.Bed.Spec.Ports[i]
		if name := interfaceOf(p); name != "" && !slices.Contains(u.Calibration.Interfaces, name) {
			return fmt.Sprintf("test bed %s was calibrated without %s, the interface of port %s: give it the same ports, and calibrate again", u.Calibration.TestBedName, name, p.Name)
		}
	}
	return ""
}

func tooOld(u Use) string {
	limit := MaxAge(u.Bed.Spec.Calibration)
	if age := u.Time.Sub(u.Calibration.Time.Time); age > limit {
		return fmt.Sprintf("the calibration of test bed %s was %s old, more than spec.calibration.maxAge, %s: calibrate again", u.Calibration.TestBedName, Age(age), limit)
	}
	return ""
}

// Age writes how old something is in days, hours or minutes, rounded down.
func Age(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		switch n := d / unit.length; {
		case n == 1:
			return "1 " + unit.name
		case n > 1:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return "less than a minute"
}

func ofAnotherEngine(u Use) string {
	theirs, own := EngineOf(u.Calibration), engineName(u.Bed.Spec.Engine.Kind, u.Bed.Spec.Engine.TRexMode())
	if theirs == own {
		return ""
	}
	return fmt.Sprintf("test bed %s was calibrated with the engine %s, and this bed has %s: give both the same engine, and calibrate again", u.Calibration.TestBedName, theirs, own)
}

// EngineOf names the engine of a calibration, and how it reached the interfaces.
func EngineOf(c *v1alpha1.CalibrationStatus) string { return engineName(c.Engine, c.EngineMode) }

func engineName(kind v1alpha1.EngineKind, mode v1alpha1.TRexMode) string {
	switch mode {
	case v1alpha1.TRexOnCards:
		return string(kind) + " on cards"
	case v1alpha1.TRexInSoftware:
		return string(kind) + " in software"
	}
	return string(kind)
}

func ofAnotherVersion(u Use) string {
	if minor(u.Calibration.NoDropVersion) == minor(u.Version) {
		return ""
	}
	return fmt.Sprintf("test bed %s was calibrated with NoDrop %s, and this is %s: calibrate again with it", u.Calibration.TestBedName, u.Calibration.NoDropVersion, u.Version)
}

// minor is a version up to its minor number: v0.3 of v0.3.1. Of a text that is no
// version it is the whole.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return version
	}
	return parts[0] + "." + parts[1]
}

func withoutThisSize(u Use) string {
	for _, size := range u.FrameSizes {
		if !slices.ContainsFunc(u.Calibration.FrameSizes, func(f v1alpha1.CalibratedFrameSize) bool { return f.FrameSize == size }) {
			return fmt.Sprintf("the calibration of test bed %s has no frames of %d bytes: add the size to the profile of its benchmark, and calibrate again", u.Calibration.TestBedName, size)
		}
	}
	return ""
}
