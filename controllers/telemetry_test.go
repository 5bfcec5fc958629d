package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestTelemetry has a bed whose device is read while it is measured.
func TestTelemetry(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a pod reads the device":         readsDevice,
		"no pod reads the device":        readerIsMissing,
		"a pod reads the meter":          readsMeter,
		"what the API server refuses":    telemetryRefused,
		"meters that it refuses":         meterRefused,
		"the pod is gone and back again": readerGoes,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// watched is a bed with a device that is read.
func watched(name string) *v1alpha1.TestBed {
	return physical(name, func(bed *v1alpha1.TestBed) {
		bed.Spec.Device.Physical.Telemetry = &v1alpha1.DeviceTelemetry{
			SNMP: &v1alpha1.SNMPTelemetry{Address: "192.0.2.1:161"}, SecretName: "readers", Interfaces: []string{"Ethernet1/3"},
		}
	})
}

// readers is the Secret by which the device is read.
func readers() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "readers", Namespace: labNamespace}, Type: v1alpha1.DeviceAccessSecretType,
		StringData: map[string]string{"community": "do-not-show"},
	}
}

func readsDevice(w *world) {
	create(w.t, w.c, readers(), watched("leaf"), profile(), benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	pod := w.pod("b", "telemetry")
	w.Expect(pod.Labels).To(HaveKeyWithValue(labobjects.LabelRole, labobjects.RoleTelemetry), "the label by which the network policy selects it")
	w.Expect(pod.Spec.Containers[0].SecurityContext.Capabilities.Add).To(BeEmpty())
	w.Expect(pod.Spec.Volumes[1].Secret.SecretName).To(Equal("readers"))
	runner := w.pod("b", "runner")
	for _, v := range runner.Spec.Volumes {
		w.Expect(v.Secret == nil || v.Secret.SecretName != "readers").To(BeTrue(), "the runner has the credentials of the device")
	}
	endpoint := w.runnerConfig("b").Telemetry
	w.Expect(endpoint).NotTo(BeNil())
	w.Expect(endpoint.Name).To(HavePrefix("agent-1."))
	w.noPasswordIn(b)
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
}

// metered is a bed with a meter of the device's power.
func metered(name string) *v1alpha1.TestBed {
	return physical(name, func(bed *v1alpha1.TestBed) {
		bed.Spec.Device.Physical.Power = &v1alpha1.PowerMeter{
			SNMP:       &v1alpha1.SNMPPowerMeter{Address: "192.0.2.9:161", Outlets: []v1alpha1.PowerOutlet{{OID: "1.3.6.1.4.1.318.1", MilliwattsPerUnit: 1000}}},
			SecretName: "readers",
		}
	})
}

// The pod has the credentials of what it reads, and of nothing else.
func readsMeter(w *world) {
	create(w.t, w.c, metered("leaf"))
	w.Expect(w.closed("leaf", v1alpha1.ReasonBedInvalid)).To(ContainSubstring("spec.device.physical.power.secretName: namespace nodrop-lab has no Secret readers"))
	create(w.t, w.c, readers(), profile(), benchmark("b", "leaf"))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	container := w.pod("b", "telemetry").Spec.Containers[0]
	w.Expect(container.Args).To(ContainElements("--power", "--power-access"))
	w.Expect(container.Args).NotTo(ContainElement("--device"))
	w.Expect(container.VolumeMounts).To(HaveLen(2))
	w.Expect(w.runnerConfig("b").Telemetry).NotTo(BeNil())
	w.noPasswordIn(b)
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
}

func meterRefused(w *world) {
	for want, change := range map[string]func(*v1alpha1.TestBed, *v1alpha1.PowerMeter){
		`oid is ".1.3.6": give numbers with dots between them`: func(_ *v1alpha1.TestBed, m *v1alpha1.PowerMeter) { m.SNMP.Outlets[0].OID = ".1.3.6" },
		"milliwattsPerUnit in body should be greater than or":  func(_ *v1alpha1.TestBed, m *v1alpha1.PowerMeter) { m.SNMP.Outlets[0].MilliwattsPerUnit = 0 },
		"settle is 2m0s: give 0s to 60s": func(_ *v1alpha1.TestBed, m *v1alpha1.PowerMeter) {
			m.Settle = &metav1.Duration{Duration: 2 * time.Minute}
		},
		"interval is 1ms: give 100ms to 60s": func(_ *v1alpha1.TestBed, m *v1alpha1.PowerMeter) {
			m.Interval = &metav1.Duration{Duration: time.Millisecond}
		},
		"exactly one of the fields in [snmp] must be set": func(_ *v1alpha1.TestBed, m *v1alpha1.PowerMeter) { m.SNMP = nil },
		"device.physical.power is that of the whole device": func(bed *v1alpha1.TestBed, _ *v1alpha1.PowerMeter) {
			bed.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf"}
		},
	} {
		bed := metered("leaf")
		change(bed, bed.Spec.Device.Physical.Power)
		w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring(want)))
	}
}

func readerIsMissing(w *world) {
	create(w.t, w.c, watched("leaf"))
	w.Expect(w.closed("leaf", v1alpha1.ReasonBedInvalid)).To(ContainSubstring(
		"spec.device.physical.telemetry.secretName: namespace nodrop-lab has no Secret readers of type nodrop.dev/device: create it there with that type and the keys community"))
	create(w.t, w.c, readers())
	w.isReady("leaf")
}

// A pod that reads the device and goes before the measurement begins is made again; one that goes afterwards ends no run.
func readerGoes(w *world) {
	w.kubelet.hold("runner")
	create(w.t, w.c, readers(), watched("leaf"), profile(), benchmark("b", "leaf"))
	var before *corev1.Pod
	w.Eventually(func() bool {
		before = w.pod("b", "telemetry")
		return before != nil && before.Status.PodIP != ""
	}).Should(BeTrue())
	w.Expect(w.c.Delete(w.t.Context(), before, client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(func() bool {
		now := w.pod("b", "telemetry")
		return now != nil && now.UID != before.UID
	}).Should(BeTrue())
	w.letGo("b", "runner")
	b := w.reaches("b", v1alpha1.PhaseRunning)
	w.Expect(w.c.Delete(w.t.Context(), w.pod("b", "telemetry"), client.GracePeriodSeconds(0))).To(Succeed())
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
}

func telemetryRefused(w *world) {
	for want, change := range map[string]func(*v1alpha1.DeviceTelemetry){
		`"leaf" is not an address: give host:port`:               func(t *v1alpha1.DeviceTelemetry) { t.SNMP.Address = "leaf" },
		`Unsupported value: "MD5"`:                               func(t *v1alpha1.DeviceTelemetry) { t.SNMP.Authentication = "MD5" },
		"exactly one of the fields in [snmp gnmi linux] must":    func(t *v1alpha1.DeviceTelemetry) { t.SNMP = nil },
		"interval is 100ms: give 1s to 60s":                      func(t *v1alpha1.DeviceTelemetry) { t.Interval.Duration = 100 * time.Millisecond },
		"counterDelay is 2m0s: give 0s to 60s":                   func(t *v1alpha1.DeviceTelemetry) { t.CounterDelay = &metav1.Duration{Duration: 2 * time.Minute} },
		"portGroup is given, and device.physical.telemetry.inte": func(t *v1alpha1.DeviceTelemetry) { t.Interfaces = nil },
	} {
		bed := watched("leaf")
		bed.Spec.PortGroup = &v1alpha1.PortGroup{Device: "leaf"}
		change(bed.Spec.Device.Physical.Telemetry)
		w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring(want)))
	}
}
