package benchmarks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
)

// resumption continues preempted benchmarks with their finished rows.
type resumption struct {
	// live reads from the API server.
	live      client.Reader
	files     kit.LabFiles
	snapshots *snapshots
	ledgers   *ledgers
}

// returnable reports whether a lease that was just found need not be taken over: the lab asks for
// the bed already, or it is not the one on which the benchmark resumes.
func returnable(s *kit.Scope, bed *v1alpha1.TestBed) bool {
	return bed.Status.Lease.Preemption != nil && s.Spec.Preemptible ||
		s.Status.Resumption != nil && s.Status.Resumption.TestBedName != bed.Name
}

// resume continues a benchmark with its finished rows, unless they were measured with
// something else than the bed has now. It is decided in the write that takes the bed over.
func (r *resumption) resume(ctx context.Context, s *kit.Scope, bed *v1alpha1.TestBed) error {
	if s.Status.Resumption == nil {
		return nil
	}
	changed, err := r.changedSince(ctx, s, bed)
	if err != nil {
		return err
	}
	s.Status.Variant = s.Status.Resumption.Variant
	if len(changed) > 0 {
		r.beginAnew(s, changed)
	}
	return nil
}

// changedSince names what is not as it was when the finished rows were measured, of what is
// known before anything is started. Who may use a bed, and whether it takes benchmarks, does
// not affect the measurement. Files that are gone are used as they were kept.
func (r *resumption) changedSince(ctx context.Context, s *kit.Scope, bed *v1alpha1.TestBed) (changed []string, _ error) {
	in, err := r.snapshots.read(ctx, s)
	if err != nil {
		return nil, err
	}
	if in.Bed == nil {
		return []string{"the description of the bed"}, nil
	}
	was, is := &in.Bed.Spec, &bed.Spec
	for _, field := range []struct {
		name    string
		was, is any
	}{
		{"spec.device", was.Device, is.Device}, {"spec.engine", was.Engine, is.Engine}, {"spec.ports", was.Ports, is.Ports},
		{"spec.routing", was.Routing, is.Routing}, {"spec.calibration", was.Calibration, is.Calibration},
		{"spec.hooks", was.Hooks, is.Hooks},
	} {
		if !equality.Semantic.DeepEqual(field.was, field.is) {
			changed = append(changed, field.name+" of the bed")
		}
	}
	for _, ref := range device.Files(bed.Spec.Device) {
		now, problem, err := r.files.ConfigMap(ctx, ref)
		if err != nil {
			return nil, err
		}
		if problem == "" && !sameFiles(in.ConfigMaps[ref.Name], now) && !slices.Contains(changed, "ConfigMap "+ref.Name) {
			changed = append(changed, "ConfigMap "+ref.Name)
		}
	}
	if bed.Spec.Calibration == nil {
		return changed, nil
	}
	l, err := r.ledgers.open(ctx, s)
	if err != nil {
		return nil, err
	}
	calibration, err := calibrationOf(ctx, r.live, bed)
	if err != nil {
		return nil, err
	}
	if e := l.Environment(); e != nil && !equality.Semantic.DeepEqual(e.Calibration, calibration) {
		changed = append(changed, "the calibration of the tester")
	}
	return changed, nil
}

func sameFiles(was, is *corev1.ConfigMap) bool {
	return was != nil && equality.Semantic.DeepEqual(was.Data, is.Data) && equality.Semantic.DeepEqual(was.BinaryData, is.BinaryData)
}

// beginAnew lets the finished rows not count: rows of both would make one result. They stay
// in their objects.
func (r *resumption) beginAnew(s *kit.Scope, changed []string) {
	why := kit.Bounded(fmt.Sprintf("%s changed since the %d finished rows were measured", strings.Join(changed, ", "), rowsStored(s)))
	for i := range s.Status.EarlierRuns {
		if run := &s.Status.EarlierRuns[i]; run.Discarded == "" && run.Rows > 0 {
			run.Discarded = why[:min(len(why), maxDiscarded)]
		}
	}
	keepProfileOnly(s)
	s.Status.Results = &v1alpha1.ResultSummary{
		Parts: s.Status.Results.Parts, DiscardedParts: s.Status.Results.Parts, Inputs: s.Status.Results.Inputs,
	}
	s.Status.Resumption, s.Status.Progress, s.Status.Variant = nil, nil, ""
	r.ledgers.forget(keyOf(s.Benchmark))
	r.snapshots.forget(keyOf(s.Benchmark))
	s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionFalse, v1alpha1.ReasonNotResumable,
		"the benchmark begins anew: "+why+", and rows of both would make one result")
}

// maxDiscarded bounds the reason for which the rows of a run do not count.
const maxDiscarded = 256
