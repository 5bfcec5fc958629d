package benchmarks

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/manifests/preflight"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// inputKeeper keeps what a benchmark is measured with as it is when the benchmark gets its bed.
type inputKeeper struct {
	// live reads from the API server.
	live  client.Reader
	files kit.LabFiles
	// policy defines which frames may be sent on beds without a policy of their own.
	policy    *v1alpha1.TrafficPolicy
	snapshots *snapshots
	leases    *leases
}

// keepProfile keeps the traffic profile as it is when the benchmark is accepted, with the
// frame sizes that the benchmark gives. From then on the profile itself is not read, which
// may be deleted and made again.
func (k *inputKeeper) keepProfile(ctx context.Context, s *kit.Scope) error {
	if hasInput(s, v1alpha1.SnapshotTrafficProfile) {
		return nil
	}
	profile := &v1alpha1.TrafficProfile{}
	key := client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.TrafficProfileName}
	if err := k.live.Get(ctx, key, profile); err != nil {
		return fmt.Errorf("reading TrafficProfile %s: %w", key.Name, err)
	}
	profile = profile.For(&s.Spec)
	profile.ObjectMeta = stored.Kept(profile.ObjectMeta)
	return k.snapshots.keep(ctx, s, v1alpha1.SnapshotTrafficProfile, profile.ObjectMeta, profile)
}

// keep keeps the bed and the files of its device as they are when the bed was
// leased, before anything is started with them. Later phases use these snapshots.
func (k *inputKeeper) keep(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if !hasInput(s, v1alpha1.SnapshotTestBed) || !hasInput(s, v1alpha1.SnapshotTrafficProfile) {
		if err := k.keepProfile(ctx, s); apierrors.IsNotFound(err) {
			return kit.Rest(), k.leases.waitAnew(ctx, s)
		} else if err != nil {
			return kit.Step{}, err
		}
		problem, err := k.keepBed(ctx, s)
		if err != nil {
			return kit.Step{}, err
		}
		if problem != "" {
			return s.End(v1alpha1.PhaseError, v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, fmt.Sprintf("TestBed %s: %s", s.Bed.Name, problem)), nil
		}
		in, err := k.snapshots.read(ctx, s)
		if err != nil {
			return kit.Step{}, err
		}
		// The profile that was judged may have been deleted and made again since, and the
		// model of the device replaced. The lab is in order all the same.
		if problems := preflight.Fit(s.Benchmark, in.Profile, in.Bed, k.policy, preflight.ModelsIn(in.ConfigMaps)); len(problems) > 0 {
			return s.End(v1alpha1.PhaseInvalid, v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, fmt.Sprintf(
				"profile %s or bed %s was changed after the benchmark was accepted, so that it cannot be measured: %v", in.Profile.Name, in.Bed.Name, problems.ToAggregate())), nil
		}
		// The status names what was kept before anything is started.
		return kit.Again(kit.Soon), nil
	}
	if s.TakesOver() { // A benchmark that resumes has its inputs.
		return kit.Again(kit.Soon), nil
	}
	in, err := k.snapshots.read(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	status := s.Bed.Status
	s.Bed, s.Profile, s.ConfigMaps = in.Bed.DeepCopy(), in.Profile, in.ConfigMaps
	s.Bed.Status = status
	return kit.Proceed(), nil
}

// keepBed keeps the bed, and every ConfigMap that its device refers to in any
// variant. A problem is something that the owner of the bed has to correct.
func (k *inputKeeper) keepBed(ctx context.Context, s *kit.Scope) (problem string, _ error) {
	for _, ref := range device.Files(s.Bed.Spec.Device) {
		config, problem, err := k.files.ConfigMap(ctx, ref)
		if err != nil || problem != "" {
			return problem, err
		}
		if hasInputNamed(s, v1alpha1.SnapshotConfigMap, ref.Name) {
			continue
		}
		kept := &corev1.ConfigMap{ObjectMeta: stored.Kept(config.ObjectMeta), Data: config.Data, BinaryData: config.BinaryData}
		if err := k.snapshots.keep(ctx, s, v1alpha1.SnapshotConfigMap, kept.ObjectMeta, kept); err != nil {
			return "", err
		}
	}
	kept := &v1alpha1.TestBed{ObjectMeta: stored.Kept(s.Bed.ObjectMeta), Spec: *s.Bed.Spec.DeepCopy()}
	return "", k.snapshots.keep(ctx, s, v1alpha1.SnapshotTestBed, kept.ObjectMeta, kept)
}
