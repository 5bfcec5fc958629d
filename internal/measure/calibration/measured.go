package calibration

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Of sums up what a benchmark on a bed without a device has found of the tester;
// nil when no row can be used. By names the benchmark, as namespace/name; conditions are those
// under which it measured (Conditions).
func Of(bed *v1alpha1.TestBed, by string, at time.Time, version string, rows []v1alpha1.ResultRow, conditions []v1alpha1.CalibrationCondition) *v1alpha1.CalibrationStatus {
	device := bed.Spec.Device.BackToBack
	if device == nil {
		return nil
	}
	sizes := frameSizes(rows)
	if len(sizes) == 0 {
		return nil
	}
	c := &v1alpha1.CalibrationStatus{
		Time: metav1.NewTime(at), Benchmark: by, TestBedName: bed.Name, JoinedBy: device.JoinedBy,
		Engine: bed.Spec.Engine.Kind, EngineMode: bed.Spec.Engine.TRexMode(), NoDropVersion: version, FrameSizes: sizes,
		Conditions: merged(conditions),
	}
	if c.JoinedBy == "" {
		c.JoinedBy = v1alpha1.JoinedByLoops
	}
	c.Interfaces = Interfaces(bed)
	return c
}

// Interfaces names the interfaces of a bed's ports as node/interface, each once;
// modelled ports have none.
func Interfaces(bed *v1alpha1.TestBed) []string {
	var names []string
	for i := range bed.Spec.Ports {
		if name := interfaceOf(&bed.Spec.Ports[i]); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Exclusive names all of a bed that only one benchmark has at a time, on whichever bed: the interfaces
// of its ports, and its device where NoDrop configures it.
func Exclusive(bed *v1alpha1.TestBed) []string {
	names := Interfaces(bed)
	for i := range names {
		names[i] = "interface " + names[i]
	}
	if m := bed.Spec.Device.Management(); m != nil {
		names = append(names, "device at "+m.Address())
	}
	return names
}

// interfaceOf names the interface behind a port as node/interface, "" for a
// modelled one. What a device plugin or a driver hands out goes by the name of the
// resource or of the claim's template, of which the lab has one for each cable.
func interfaceOf(p *v1alpha1.Port) string {
	switch a := p.Attachment; {
	case a == nil:
		return ""
	case a.HostDevice != nil:
		return p.Node + "/" + a.HostDevice.Interface
	case a.SRIOV != nil:
		return p.Node + "/" + a.SRIOV.ResourceName
	case a.ResourceClaim != nil:
		return p.Node + "/" + a.ResourceClaim.TemplateName
	}
	return ""
}

// frameSizes has one entry per frame size of the rows that can be used, in their
// order.
func frameSizes(rows []v1alpha1.ResultRow) []v1alpha1.CalibratedFrameSize {
	var sizes []v1alpha1.CalibratedFrameSize
	at := map[int32]int{}
	for i := range rows {
		row := &rows[i]
		frames := row.Frames.OrZero()
		if !usable(row) {
			continue
		}
		n, known := at[row.FrameSize]
		if !known {
			n = len(sizes)
			at[row.FrameSize] = n
			sizes = append(sizes, v1alpha1.CalibratedFrameSize{FrameSize: row.FrameSize})
		}
		found := &sizes[n]
		if frames.LineRatePPM > found.LineRatePPM {
			found.LineRatePPM, found.FramesPerSecond = frames.LineRatePPM, frames.FramesPerSecond
		}
		if s := row.Search; s != nil && s.UpperBoundPPM > 0 && (found.UpperBoundPPM == 0 || s.UpperBoundPPM < found.UpperBoundPPM) {
			found.UpperBoundPPM = s.UpperBoundPPM
		}
		if row.Latency != nil && (found.Latency == nil || row.Latency.AvgNs < found.Latency.AvgNs) {
			found.Latency, found.LatencyLoadPPM = row.Latency.DeepCopy(), frames.LineRatePPM
		}
	}
	addReordered(sizes, rows)
	for i := range sizes {
		// A load that another trial passed is no bound.
		if found := &sizes[i]; found.UpperBoundPPM <= found.LineRatePPM {
			found.UpperBoundPPM = 0
		}
	}
	return sizes
}

// addReordered adds the greatest share of reordered frames to each frame size. Rows count in
// which the tester may have changed the order: the calibration looks for them.
func addReordered(sizes []v1alpha1.CalibratedFrameSize, rows []v1alpha1.ResultRow) {
	for i := range rows {
		row := &rows[i]
		at := slices.IndexFunc(sizes, func(s v1alpha1.CalibratedFrameSize) bool { return s.FrameSize == row.FrameSize })
		frames := row.Frames.OrZero()
		if at < 0 || frames.Reordered == nil || frames.Received <= 0 || row.Validity == v1alpha1.ValidityContended || row.Validity == v1alpha1.ValidityInvalid {
			continue
		}
		if share := ReorderedPPM(*frames.Reordered, frames.Received); sizes[at].ReorderedPPM == nil || share > *sizes[at].ReorderedPPM {
			sizes[at].ReorderedPPM = &share
		}
	}
}

// ReorderedPPM is the share of reordered frames in parts per million, rounded up, so that it
// is 0 only without any.
func ReorderedPPM(reordered, received int64) int64 {
	return (reordered*v1alpha1.PPM + received - 1) / received
}

// usable reports whether a row shows a load that the tester sent and received whole. Without
// a device, the tester is the limit of every search: a throughput that is GeneratorBound is
// expected.
func usable(row *v1alpha1.ResultRow) bool {
	frames := row.Frames.OrZero()
	if row.FrameSize <= 0 || frames.LineRatePPM <= 0 || frames.Sent == 0 || frames.Lost > 0 {
		return false
	}
	switch row.Method {
	case v1alpha1.MethodThroughput:
		return row.Validity != v1alpha1.ValidityContended
	case v1alpha1.MethodLatency, v1alpha1.MethodSoak, v1alpha1.MethodFrameLoss:
		return row.Validity == v1alpha1.ValidityValid || row.Validity == v1alpha1.ValidityVirtual
	}
	return false
}
