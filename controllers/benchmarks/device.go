package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// devices starts virtual devices, and configures those that NoDrop manages.
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

// start starts or configures the device under test, which is tried once. Devices that people configure
// need neither.
func (d *devices) start(ctx context.Context, s *kit.Scope) (kit.Step, error) {
	if s.IsTrue(v1alpha1.ConditionDeviceReady) {
		return kit.Proceed(), nil
	}
	if !device.InPods(s.Device) {
		s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionTrue, v1alpha1.ReasonDeviceReady, "there is no device to start")
		return kit.Proceed(), nil
	}
	fail := func(message string) (kit.Step, error) {
		return s.End(v1alpha1.PhaseError, v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, message), nil
	}
	described, up, problem, err := d.up(ctx, s)
	if err != nil {
		return kit.Step{}, err
	}
	if problem != "" {
		return fail(problem)
	}
	is, was, not := "is being started", "is up", "did not come up"
	switch {
	case labobjects.IsConfiguration(described):
		is, was, not = "is being configured", "is configured", "was not configured"
	case labobjects.IsNodeConfigured(described):
		is, not = "is being started and configured", "did not come up with its configuration, and its topology is destroyed"
		was = "is up and configured; its topology is destroyed afterwards, so that nothing is restored"
	}
	switch up.Status.Phase {
	case corev1.PodSucceeded:
		if labobjects.IsNodeConfigured(described) {
			if err := labobjects.KeepNodeReport(described, up); err != nil {
				return fail(err.Error())
			}
			if err := d.objects.Client.Update(ctx, described); err != nil {
				return kit.Step{}, fmt.Errorf("keeping how the device was configured: %w", err)
			}
		}
		s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionTrue, v1alpha1.ReasonDeviceReady, "the device "+was)
		return kit.Proceed(), nil
	case corev1.PodFailed:
		return fail("the device " + not + ": " + kit.EndOf(up))
	}
	why := kit.WaitsFor(ctx, d.live, up)
	s.Set(v1alpha1.ConditionDeviceReady, metav1.ConditionFalse, v1alpha1.ReasonDeviceStarting, "the device "+is+kit.Colon(why))
	if next, late := s.Late(v1alpha1.ConditionDeviceReady, v1alpha1.ReasonDeviceFailed, d.deadline, "the device "+not+kit.InBrackets(why)); late {
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

// configuration returns how the device got its configuration; nil where people configure it. A pod that was
// deleted since is made again, which finds the device as it left it, but for one that starts a topology.
func (d *devices) configuration(ctx context.Context, s *kit.Scope) (_ *v1alpha1.DeviceConfiguration, waitsFor string, _ error) {
	if !device.Configured(s.Device) {
		return nil, "", nil
	}
	if s.Device.Management() == nil {
		reported, err := d.nodeReport(ctx, s)
		return reported, "", err
	}
	_, up, problem, err := d.up(ctx, s)
	switch {
	case err != nil:
		return nil, "", err
	case problem != "":
		return nil, "", kit.Permanent(errors.New(problem))
	case up.Status.Phase == corev1.PodFailed:
		return nil, "", kit.Permanent(errors.New("the device was not configured: " + kit.EndOf(up)))
	case up.Status.Phase != corev1.PodSucceeded:
		return nil, "the device is configured once more: pod " + up.Name + " has not ended", nil
	}
	reported, err := labobjects.ReportedConfiguration(up)
	if err != nil {
		return nil, "", kit.Permanent(err)
	}
	return reported, "", nil
}

// nodeReport returns how the node of a topology got its configuration.
func (d *devices) nodeReport(ctx context.Context, s *kit.Scope) (*v1alpha1.DeviceConfiguration, error) {
	sec := &corev1.Secret{}
	err := d.live.Get(ctx, client.ObjectKey{Namespace: d.settings.Namespace, Name: labobjects.DeviceSecretName(s.Run)}, sec)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading how the device was configured: %w", err)
	}
	reported, err := labobjects.NodeReport(sec)
	if err != nil {
		return nil, kit.Permanent(err)
	}
	return reported, nil
}

// up makes the pod that starts or configures the device.
func (d *devices) up(ctx context.Context, s *kit.Scope) (described *corev1.Secret, up *corev1.Pod, problem string, _ error) {
	described, problem, err := d.describe(ctx, s)
	if err != nil || problem != "" {
		return nil, nil, problem, err
	}
	if up, err = labobjects.DeviceUpPod(d.settings, s.Run, described); err != nil {
		return nil, nil, err.Error(), nil
	}
	return described, up, "", d.objects.Ensure(ctx, s.Run, up)
}

// describe keeps the device's description as it is now, so that what is started or
// configured with it can be stopped or restored with it.
func (d *devices) describe(ctx context.Context, s *kit.Scope) (_ *corev1.Secret, problem string, _ error) {
	sec := &corev1.Secret{}
	err := d.live.Get(ctx, client.ObjectKey{Namespace: d.settings.Namespace, Name: labobjects.DeviceSecretName(s.Run)}, sec)
	if err == nil {
		return sec, "", nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, "", fmt.Errorf("reading the description of the device: %w", err)
	}
	if s.Device.Management() != nil {
		sec, problem, err = d.configurations(ctx, s)
	} else {
		sec, problem, err = d.topology(ctx, s)
	}
	if err != nil || problem != "" {
		return nil, problem, err
	}
	return sec, "", d.objects.ForNew().Ensure(ctx, s.Run, sec)
}

// configurations describes a device that is configured: the configuration of the variant, and the base.
func (d *devices) configurations(ctx context.Context, s *kit.Scope) (_ *corev1.Secret, problem string, _ error) {
	wanted, base, problem, err := d.texts(ctx, s, s.Device.Management().Configuration, s.Bed.Spec.Device.Management().Configuration)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	sec, err := labobjects.ConfigurationSecret(d.settings, s.Run, s.Bed, s.Device.Management(), wanted, base)
	if err != nil {
		return nil, err.Error(), nil
	}
	return sec, "", nil
}

// texts returns the configuration of the variant, with the values that the benchmark chose, and the base.
func (d *devices) texts(ctx context.Context, s *kit.Scope, ofVariant, ofBase v1alpha1.DeviceConfigurationSource) (wanted, base, problem string, _ error) {
	wanted, problem, err := d.files.Configuration(ctx, ofVariant.ConfigMapRef)
	if err == nil && problem == "" {
		base, problem, err = d.files.Configuration(ctx, ofBase.ConfigMapRef)
	}
	if err != nil || problem != "" {
		return "", "", problem, err
	}
	wanted, err = parameters.Fill(wanted, &s.Bed.Spec.Device, s.Status.Variant, s.Spec.DeviceParameters)
	if err != nil {
		return "", "", err.Error(), nil
	}
	return wanted, base, "", nil
}

// topology describes a virtual device.
func (d *devices) topology(ctx context.Context, s *kit.Scope) (_ *corev1.Secret, problem string, _ error) {
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
	sec, err := labobjects.DeviceSecret(d.settings, s.Run, bed, config, passwords)
	if err != nil {
		return nil, err.Error(), nil
	}
	if c := s.Device.NodeConfiguration(); c != nil {
		node := &device.Node{NodeConfiguration: *c}
		node.Wanted, node.Base, problem, err = d.texts(ctx, s, c.DeviceConfigurationSource, s.Bed.Spec.Device.NodeConfiguration().DeviceConfigurationSource)
		if err != nil || problem != "" {
			return nil, problem, err
		}
		if err := labobjects.AddNodeConfiguration(sec, s.Bed.Name, node); err != nil {
			return nil, err.Error(), nil
		}
	}
	return sec, "", nil
}
