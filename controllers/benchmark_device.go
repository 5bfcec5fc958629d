package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/lab"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/runner"
)

// startDevice starts the device under test. Only a virtual one has to be started, and
// that is tried once.
func (r *benchmarkReconciler) startDevice(ctx context.Context, s *scope) (step, error) {
	if s.isTrue(v1alpha1.ConditionDeviceReady) {
		return proceed(), nil
	}
	if !device.Of(s.device).OnNode {
		s.set(v1alpha1.ConditionDeviceReady, metav1.ConditionTrue, v1alpha1.ReasonDeviceReady, "there is no device to start")
		return proceed(), nil
	}
	fail := func(message string) (step, error) {
		return s.end(v1alpha1.PhaseError, v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, message), nil
	}
	topology, problem, err := r.topology(ctx, s)
	if err != nil {
		return step{}, err
	}
	if problem != "" {
		return fail(problem)
	}
	up, err := lab.DeviceUpPod(r.Lab, s.run, topology)
	if err != nil {
		return fail(err.Error())
	}
	if err := r.ensure(ctx, s.run, up); err != nil {
		return step{}, err
	}
	switch up.Status.Phase {
	case corev1.PodSucceeded:
		s.set(v1alpha1.ConditionDeviceReady, metav1.ConditionTrue, v1alpha1.ReasonDeviceReady, "the device is up")
		return proceed(), nil
	case corev1.PodFailed:
		return fail("the device did not come up: " + endOf(up))
	}
	why := r.waitsFor(ctx, up)
	s.set(v1alpha1.ConditionDeviceReady, metav1.ConditionFalse, v1alpha1.ReasonDeviceStarting, "the device is being started"+colon(why))
	if next, late := s.late(v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, r.Deadlines.Device, "the device did not come up"+inBrackets(why)); late {
		return next, nil
	}
	return again(r.Poll), nil
}

// placement returns the processors of its node on which a virtual device works, as the pod
// that started it has reported; empty with an engine that does not ask.
func (r *benchmarkReconciler) placement(ctx context.Context, s *scope) (device.Placement, error) {
	if !device.Of(s.device).OnNode || s.bed.Spec.Engine.Kind != v1alpha1.EngineXDP {
		return device.Placement{}, nil
	}
	up := &corev1.Pod{}
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.DeviceUpName(s.run)}, up); client.IgnoreNotFound(err) != nil {
		return device.Placement{}, fmt.Errorf("reading which processors the device has: %w", err)
	}
	return lab.DevicePlacement(up), nil
}

// topology keeps the device's description as it is now, so that what is started
// with it can be stopped with it.
func (r *benchmarkReconciler) topology(ctx context.Context, s *scope) (_ *corev1.Secret, problem string, _ error) {
	sec := &corev1.Secret{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.Lab.Namespace, Name: lab.DeviceSecretName(s.run)}, sec)
	if err == nil {
		return sec, "", nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, "", fmt.Errorf("reading the device's topology: %w", err)
	}
	ref := s.device.Containerlab.Topology.ConfigMapRef
	config, problem, err := s.keptFile(ctx, ref)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	passwords, problem, err := r.passwords(ctx, s.bed)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	bed := s.bed.DeepCopy()
	bed.Spec.Device = s.device
	sec, err = lab.DeviceSecret(r.Lab, s.run, bed, config, passwords)
	if err != nil {
		return nil, err.Error(), nil
	}
	return sec, "", r.ensure(ctx, s.run, sec)
}

// configMap reads a ConfigMap that a bed refers to. A problem is something that the
// owner of the bed has to correct.
func configMap(ctx context.Context, reader client.Reader, namespace string, ref v1alpha1.ConfigMapKeyReference) (_ *corev1.ConfigMap, problem string, _ error) {
	config := &corev1.ConfigMap{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, config)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("ConfigMap %s is not in the lab's namespace %s: apply it there, or correct configMapRef.name", ref.Name, namespace), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading ConfigMap %s: %w", ref.Name, err)
	}
	return config, keyProblem(config, namespace, ref), nil
}

// keyProblem describes that a ConfigMap lacks a key; "" if it has the key.
func keyProblem(config *corev1.ConfigMap, namespace string, ref v1alpha1.ConfigMapKeyReference) string {
	_, text := config.Data[ref.Key]
	_, binary := config.BinaryData[ref.Key]
	if !text && !binary {
		return fmt.Sprintf("ConfigMap %s in namespace %s has no key %s: add it, or correct configMapRef.key", ref.Name, namespace, ref.Key)
	}
	return ""
}

// files reads the ConfigMaps of a bed: from the lab's namespace, or from snapshots.
type files func(ctx context.Context, ref v1alpha1.ConfigMapKeyReference) (_ *corev1.ConfigMap, problem string, _ error)

// labFiles reads ConfigMaps of the lab's namespace.
func (b *base) labFiles(ctx context.Context, ref v1alpha1.ConfigMapKeyReference) (*corev1.ConfigMap, string, error) {
	return configMap(ctx, b.live, b.Lab.Namespace, ref)
}

// maxTable is the maximum size of a table in bytes: the runner's Secret holds three of them,
// compressed, and stays below 256 KiB.
const maxTable = 48 << 10

// readTables fills in the texts of the tables of a modeled device. A table that
// is not there, or that cannot be read, is a problem.
func readTables(ctx context.Context, read files, cfg *runner.Config) (problem string, _ error) {
	for _, t := range cfg.Tables() {
		config, problem, err := read(ctx, t.Ref)
		if err != nil || problem != "" {
			return problem, err
		}
		*t.Text = config.Data[t.Ref.Key]
		if size := len(*t.Text); size > maxTable {
			return fmt.Sprintf("ConfigMap %s, key %s has %d KiB, and a table may have at most %d KiB: keep only the frame sizes and loads that are measured",
				config.Name, t.Ref.Key, (size+1023)>>10, maxTable>>10), nil
		}
	}
	if err := cfg.CheckTables(); err != nil {
		return "spec." + err.Error(), nil
	}
	return "", nil
}
