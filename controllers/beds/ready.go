package beds

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// bedCheck finds a reason why a bed cannot be leased; an empty reason means none.
type bedCheck func(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error)

// ready judges the bed, and sets the conditions Ready, Healthy, Reconciling and Stalled. It
// returns when to check again, 0 for the usual time.
func (r *Reconciler) ready(ctx context.Context, bed *v1alpha1.TestBed, now time.Time) (time.Duration, error) {
	after, err := r.judge(ctx, bed, now)
	if err != nil {
		return 0, err
	}
	if err := r.judgeConnection(ctx, bed, now); err != nil {
		return 0, err
	}
	// The bed is checked again after Recheck: no event has to wake it.
	kit.SummarizeBed(bed, now)
	return after, nil
}

// judge sets the condition Ready by the first check that fails. A bed that passes all of them is
// probed.
func (r *Reconciler) judge(ctx context.Context, bed *v1alpha1.TestBed, now time.Time) (time.Duration, error) {
	reason, message, err := r.firstProblem(ctx, bed)
	if err != nil {
		return 0, err
	}
	var after time.Duration
	if reason != "" {
		err = r.stopProbe(ctx, bed)
	} else {
		after, err = r.probe(ctx, bed, now)
		reason, message = unhealthy(bed)
	}
	if err != nil {
		return 0, err
	}
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonBedReady, Message: "benchmarks can lease the bed"}
	if reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, message
	}
	kit.SetCondition(&bed.Status.Conditions, now, bed.Generation, c)
	return after, nil
}

// firstProblem returns the result of the first check that fails.
func (r *Reconciler) firstProblem(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	for _, check := range []bedCheck{
		notQuarantined, notDeleted, describedWell, r.referencesExist, r.configurationsAreSound, r.accessExists, r.hookSecretsExist, r.passwordsExist, r.tablesAreSound,
		r.nodesExist, r.networksExist, r.nodesOffer, r.claimsExist, r.trexHasImage,
	} {
		reason, message, err := check(ctx, bed)
		if err != nil || reason != "" {
			return reason, message, err
		}
	}
	return "", "", nil
}

// judgeConnection sets the condition that reports whether the connection data of the bed can
// be handed out, so that its owner need not wait for a reservation to know. The bed is ready
// without them.
func (r *Reconciler) judgeConnection(ctx context.Context, bed *v1alpha1.TestBed, now time.Time) error {
	if bed.Spec.Connection == nil {
		meta.RemoveStatusCondition(&bed.Status.Conditions, v1alpha1.ConditionConnectionData)
		return nil
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionConnectionData, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConnectionReadable,
		Message: "those who have reserved the bed get them",
	}
	if !r.Connections {
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotHandedOut
		c.Message = "this lab hands no connection data out: set connections.enabled of the chart (docs/reservations.md)"
	} else if _, problem, err := r.LabFiles().Connection(ctx, bed); err != nil {
		return err
	} else if problem != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonConnectionUnreadable, problem
	}
	kit.SetCondition(&bed.Status.Conditions, now, bed.Generation, c)
	return nil
}

func notDeleted(_ context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if bed.DeletionTimestamp.IsZero() {
		return "", "", nil
	}
	return v1alpha1.ReasonBedDeleted, "the bed is being deleted, and goes when the benchmark that has it is done", nil
}

func notQuarantined(_ context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if !kit.IsQuarantined(bed) {
		return "", "", nil
	}
	return v1alpha1.ReasonBedQuarantined, fmt.Sprintf(
		"the bed is quarantined: see the condition Quarantined, inspect the device, then: kubectl annotate testbed %s %s=yes",
		bed.Name, v1alpha1.AnnotationReleaseQuarantine), nil
}

func describedWell(_ context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if problems := preflight.TestBed(bed); len(problems) > 0 {
		return v1alpha1.ReasonBedInvalid, problems.ToAggregate().Error(), nil
	}
	return "", "", nil
}

func (r *Reconciler) referencesExist(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if !device.Of(bed.Spec.Device).OnNode {
		return "", "", nil
	}
	for _, ref := range device.Files(bed.Spec.Device) {
		topology, problem, err := r.LabFiles().ConfigMap(ctx, ref)
		if err != nil {
			return "", "", err
		}
		if problem != "" {
			return v1alpha1.ReasonBedInvalid, problem, nil
		}
		if err := labobjects.CheckTopology(topology); err != nil {
			return v1alpha1.ReasonBedInvalid, err.Error(), nil
		}
		if problem := sessionsForDevice(bed, topology, ref.Key); problem != "" {
			return v1alpha1.ReasonBedInvalid, problem, nil
		}
	}
	return "", "", nil
}

// tablesAreSound reads the tables of a modeled device and of its variants, so that
// errors in them are reported before a benchmark waits for the bed.
func (r *Reconciler) tablesAreSound(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	names := []v1alpha1.VariantName{""}
	for _, v := range bed.Spec.Device.Variants {
		names = append(names, v.Name)
	}
	for _, name := range names {
		problem, err := kit.ReadTables(ctx, r.LabFiles().ConfigMap, &runner.Config{Bed: *bed, Variant: name})
		if err != nil {
			return "", "", err
		}
		if problem != "" {
			return v1alpha1.ReasonBedInvalid, problem, nil
		}
	}
	return "", "", nil
}

func (r *Reconciler) nodesExist(ctx context.Context, bed *v1alpha1.TestBed) (reason, message string, _ error) {
	if bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return "", "", nil
	}
	known := map[string]bool{}
	for i, p := range bed.Spec.Ports {
		if known[p.Node] {
			continue
		}
		node := &corev1.Node{}
		err := r.Live.Get(ctx, client.ObjectKey{Name: p.Node}, node)
		if apierrors.IsNotFound(err) {
			return v1alpha1.ReasonBedInvalid, fmt.Sprintf(
				"spec.ports[%d].node: the cluster has no node %q: see kubectl get nodes, and correct the port", i, p.Node), nil
		}
		if err != nil {
			return "", "", fmt.Errorf("reading node %s: %w", p.Node, err)
		}
		if why := notReady(node); why != "" {
			return v1alpha1.ReasonNodeNotReady, fmt.Sprintf("node %s is not ready (%s), and starts no pods: repair it; the bed opens when it is ready", p.Node, why), nil
		}
		known[p.Node] = true
	}
	return "", "", nil
}

// notReady returns why a node starts no pods; "" if it does, or has not reported yet.
func notReady(node *corev1.Node) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return cmp.Or(c.Reason, string(c.Status))
		}
	}
	return ""
}
