package benchmarks

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// devices starts virtual devices.
type devices struct {
	// live reads from the API server.
	live     client.Reader
	settings labobjects.Settings
	files    kit.LabFiles
	objects  kit.RunObjects
	// deadline is the time within which a device must come up.
	deadline time.Duration
	// poll is the pause between two checks.
	poll time.Duration
}

// start starts the device under test. Only a virtual one has to be started, and
// that is tried once.
func (d *devices) start(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.IsTrue(v1alpha1.ConditionDeviceReady) {
		return kit.Proceed(), nil
	}
	if !device.Of(s.Device).OnNode {
		s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionTrue, v1alpha1.ReasonDeviceReady, "there is no device to start")
		return kit.Proceed(), nil
	}
	fail := func(message string) (kit.Step, error) {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, message), nil
	}
	topology, problem, err := d.topology(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	if problem != "" {
		return fail(problem)
	}
	up, err := labobjects.DeviceUpPod(d.settings, s.Run, topology)
	if err != nil {
		return fail(err.Error())
	}
	if err := d.objects.Ensure(ctx, s.Run, up); err != nil {
		return kit.Step{}, err
	}
	switch up.Status.Phase {
	case corev1.PodSucceeded:
		s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionTrue, v1alpha1.ReasonDeviceReady, "the device is up")
		return kit.Proceed(), nil
	case corev1.PodFailed:
		return fail("the device did not come up: " + kit.EndOf(up))
	}
	why := kit.WaitsFor(ctx, d.live, up)
	s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionFalse, v1alpha1.ReasonDeviceStarting, "the device is being started"+kit.Colon(why))
	if next, late := s.Late(v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, d.deadline, "the device did not come up"+kit.InBrackets(why)); late {
		return next, nil
	}
	return kit.Again(d.poll), nil
}

// placement returns the processors of its node on which a virtual device works, as the pod
// that started it has reported; empty with an engine that does not ask.
func (d *devices) placement(ctx context.Context, s *kit.Scope) (device.Placement, error) {
	if !device.Of(s.Device).OnNode || s.Bed.Spec.Engine.Kind != v1alpha1.EngineXDP {
		return device.Placement{}, nil
	}
	up := &corev1.Pod{}
	if err := d.live.Get(ctx, client.ObjectKey{Namespace: d.settings.Namespace, Name: labobjects.DeviceUpName(s.Run)}, up); client.IgnoreNotFound(err) != nil {
		return device.Placement{}, fmt.Errorf("reading which processors the device has: %w", err)
	}
	return labobjects.DevicePlacement(up), nil
}

// topology keeps the device's description as it is now, so that what is started
// with it can be stopped with it.
func (d *devices) topology(ctx context.Context, s *kit.Scope) (_ *corev1.Secret, problem string, _ error) {
	sec := &corev1.Secret{}
	err := d.live.Get(ctx, client.ObjectKey{Namespace: d.settings.Namespace, Name: labobjects.DeviceSecretName(s.Run)}, sec)
	if err == nil {
		return sec, "", nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, "", fmt.Errorf("reading the device's topology: %w", err)
	}
	ref := s.Device.Containerlab.Topology.ConfigMapRef
	config, problem, err := keptFile(ctx, s, ref)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	passwords, problem, err := d.files.Passwords(ctx, s.Bed)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	bed := s.Bed.DeepCopy()
	bed.Spec.Device = s.Device
	sec, err = labobjects.DeviceSecret(d.settings, s.Run, bed, config, passwords)
	if err != nil {
		return nil, err.Error(), nil
	}
	return sec, "", d.objects.Ensure(ctx, s.Run, sec)
}
