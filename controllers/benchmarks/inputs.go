package benchmarks

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/preflight"
	"nodrop.dev/nodrop/internal/stored"
)

// snapshotProfile keeps the traffic profile as it is when the benchmark is accepted, with the
// frame sizes that the benchmark gives.
// From then on the profile itself is not read, which may be deleted and made again.
func (r *Reconciler) snapshotProfile(ctx context.Context, s *kit.Scope) error {
	if hasInput(s, v1alpha1.SnapshotTrafficProfile) {
		return nil
	}
	profile := &v1alpha1.TrafficProfile{}
	key := client.ObjectKey{Namespace: s.Namespace, Name: s.Spec.TrafficProfileName}
	if err := r.Live.Get(ctx, key, profile); err != nil {
		return fmt.Errorf("reading TrafficProfile %s: %w", key.Name, err)
	}
	profile = profile.For(&s.Spec)
	profile.ObjectMeta = stored.Kept(profile.ObjectMeta)
	return r.snapshot(ctx, s, v1alpha1.SnapshotTrafficProfile, profile.ObjectMeta, profile)
}

// keepInputs keeps the bed and the files of its device as they are when the bed was
// leased, before anything is started with them. Later phases use these snapshots.
func (r *Reconciler) keepInputs(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if !hasInput(s, v1alpha1.SnapshotTestBed) || !hasInput(s, v1alpha1.SnapshotTrafficProfile) {
		if err := r.snapshotProfile(ctx, s); apierrors.IsNotFound(err) {
			return kit.Rest(), r.waitAnew(ctx, s)
		} else if err != nil {
			return kit.Step{}, err
		}
		problem, err := r.snapshotBed(ctx, s)
		if err != nil {
			return kit.Step{}, err
		}
		if problem != "" {
			return s.End(v1alpha1.PhaseError, v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, fmt.Sprintf("TestBed %s: %s", s.Bed.Name, problem)), nil
		}
		in, err := r.inputs(ctx, s)
		if err != nil {
			return kit.Step{}, err
		}
		// The profile that was judged may have been deleted and made again since, and the
		// model of the device replaced. The lab is in order all the same.
		if problems := preflight.Fit(s.Benchmark, in.Profile, in.Bed, r.DefaultPolicy, preflight.ModelsIn(in.ConfigMaps)); len(problems) > 0 {
			return s.End(v1alpha1.PhaseInvalid, v1alpha1.ConditionTrafficReady, v1alpha1.ReasonTrafficFailed, fmt.Sprintf(
				"profile %s or bed %s was changed after the benchmark was accepted, so that it cannot be measured: %v", in.Profile.Name, in.Bed.Name, problems.ToAggregate())), nil
		}
		// The status names what was kept before anything is started.
		return kit.Again(kit.Soon), nil
	}
	in, err := r.inputs(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	status := s.Bed.Status
	s.Bed, s.Profile, s.ConfigMaps = in.Bed.DeepCopy(), in.Profile, in.ConfigMaps
	s.Bed.Status = status
	return kit.Proceed(), nil
}

// snapshotBed keeps the bed, and every ConfigMap that its device refers to in any
// variant. A problem is something that the owner of the bed has to correct.
func (r *Reconciler) snapshotBed(ctx context.Context, s *kit.Scope) (problem string, _ error) {
	for _, ref := range device.Files(s.Bed.Spec.Device) {
		config, problem, err := r.LabFiles().ConfigMap(ctx, ref)
		if err != nil || problem != "" {
			return problem, err
		}
		if hasInputNamed(s, v1alpha1.SnapshotConfigMap, ref.Name) {
			continue
		}
		kept := &corev1.ConfigMap{ObjectMeta: stored.Kept(config.ObjectMeta), Data: config.Data, BinaryData: config.BinaryData}
		if err := r.snapshot(ctx, s, v1alpha1.SnapshotConfigMap, kept.ObjectMeta, kept); err != nil {
			return "", err
		}
	}
	kept := &v1alpha1.TestBed{ObjectMeta: stored.Kept(s.Bed.ObjectMeta), Spec: *s.Bed.Spec.DeepCopy()}
	return "", r.snapshot(ctx, s, v1alpha1.SnapshotTestBed, kept.ObjectMeta, kept)
}

// snapshot stores an input, and names it in the status. What is stored already is the
// same: its name follows from its content.
func (r *Reconciler) snapshot(ctx context.Context, s *kit.Scope, kind v1alpha1.SnapshotKind, of metav1.ObjectMeta, input any) error {
	parts, err := stored.Snapshot(s.Benchmark, v1alpha1.SnapshotSource{
		Kind: kind, Name: of.Name, UID: string(of.UID), Generation: of.Generation,
	}, input)
	if err != nil {
		return fmt.Errorf("keeping %s %s: %w", kind, of.Name, err)
	}
	for i := range parts {
		kit.KeepForArchive(&parts[i], r.Archive)
		if err := r.Create(ctx, &parts[i]); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keeping %s %s: %w", kind, of.Name, err)
		}
	}
	if s.Status.Results == nil {
		s.Status.Results = &v1alpha1.ResultSummary{}
	}
	s.Status.Results.Inputs = append(s.Status.Results.Inputs, parts[0].Spec.Source)
	return nil
}

// inputs reads the snapshots, once.
func (r *Reconciler) inputs(ctx context.Context, s *kit.Scope) (*stored.Inputs, error) {
	r.Memory.mu.Lock()
	known := r.Memory.inputs[s.UID]
	r.Memory.mu.Unlock()
	if known != nil && slices.Equal(known.sources, s.Status.Results.Inputs) {
		return &known.Inputs, nil
	}
	in, err := stored.ReadInputs(ctx, r.Live, s.Benchmark)
	if err != nil {
		return nil, err
	}
	r.Memory.mu.Lock()
	defer r.Memory.mu.Unlock()
	r.Memory.inputs[s.UID] = &keptInputs{in, slices.Clone(s.Status.Results.Inputs)}
	return &in, nil
}

// keptFile reads a ConfigMap as it was when the bed was leased.
func keptFile(_ context.Context, s *kit.Scope, ref v1alpha1.ConfigMapKeyReference) (*corev1.ConfigMap, string, error) {
	config := s.ConfigMaps[ref.Name]
	if config == nil {
		return nil, fmt.Sprintf("ConfigMap %s was not kept when the bed was leased", ref.Name), nil
	}
	return config, kit.KeyProblem(config, config.Namespace, ref), nil
}

func hasInput(s *kit.Scope, kind v1alpha1.SnapshotKind) bool {
	return s.Status.Results != nil && slices.ContainsFunc(s.Status.Results.Inputs, func(in v1alpha1.SnapshotSource) bool { return in.Kind == kind })
}

func hasInputNamed(s *kit.Scope, kind v1alpha1.SnapshotKind, name string) bool {
	return s.Status.Results != nil && slices.ContainsFunc(s.Status.Results.Inputs, func(in v1alpha1.SnapshotSource) bool {
		return in.Kind == kind && in.Name == name
	})
}
