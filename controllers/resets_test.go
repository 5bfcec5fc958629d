package controllers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// TestResets has beds that describe how NoDrop resets their devices.
func TestResets(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a pod resets the device":        resetsDevice,
		"what a benchmark cannot choose": resetNotDescribed,
		"what the API server refuses":    resetsRefused,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// resettable is a managed bed with two resets.
func resettable(name string) *v1alpha1.TestBed {
	bed := managed(name)
	bed.Spec.Device.Physical.Management.SSH.Resets = []v1alpha1.DeviceReset{
		{Name: "linecard", Kind: v1alpha1.ResetHardware, Commands: []string{"debug linecard 1 reset"}},
		{Name: "portFlap", Kind: v1alpha1.ResetHardware, Commands: []string{"configure terminal", "interface e1", "shutdown", "no shutdown"}},
	}
	return bed
}

// resetting is a benchmark that resets the device.
func resetting(name, bed string, reset v1alpha1.ResetTest) *v1alpha1.Benchmark {
	return benchmark(name, bed, func(b *v1alpha1.Benchmark) {
		reset.Trigger, reset.Load = v1alpha1.ResetByDevice, "10%"
		reset.LeadTime, reset.TrialDuration = metav1.Duration{Duration: time.Second}, metav1.Duration{Duration: time.Minute}
		b.Spec.Tests = []v1alpha1.Test{{Name: "reset", Reset: &reset}}
		b.Spec.Variants = []v1alpha1.VariantName{"acl"}
	})
}

// The pod that reads the device has its credentials and the configuration of the variant, and the runner has neither. It goes before the
// device is restored.
func resetsDevice(w *world) {
	w.createManaged(resettable("leaf"))
	create(w.t, w.c, resetting("b", "leaf", v1alpha1.ResetTest{Kind: v1alpha1.ResetHardware, Name: "portFlap"}))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	pod := w.pod("b", "telemetry")
	w.Expect(pod.Labels).To(HaveKeyWithValue(labobjects.LabelRole, labobjects.RoleTelemetry), "the label by which the network policy selects it")
	container := pod.Spec.Containers[0]
	w.Expect(container.SecurityContext.Capabilities.Add).To(BeEmpty())
	var described v1alpha1.DeviceManagement
	w.Expect(json.Unmarshal([]byte(container.Args[slices.Index(container.Args, "--management")+1]), &described)).To(Succeed())
	w.Expect(described.SSH.Resets).To(HaveLen(2))
	mounted := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		mounted[v.Name] = v.Secret.SecretName
	}
	w.Expect(mounted).To(HaveKeyWithValue("management-access", "leaf"))
	secrets := w.secret(pod.Namespace, mounted["configuration"])
	w.Expect(string(secrets.Data["wanted.conf"])).To(Equal(aclText))
	for _, role := range []string{"runner", "agent-0"} {
		for _, v := range w.pod("b", role).Spec.Volumes {
			w.Expect(v.Secret == nil || v.Secret.SecretName != "leaf" && v.Secret.SecretName != mounted["configuration"]).To(BeTrue(), "%s has the credentials or configurations of the device", role)
		}
	}
	w.Expect(w.runnerConfig("b").Telemetry).NotTo(BeNil())
	w.noPasswordIn(b)
	reset := row(64)
	reset.Test, reset.Method, reset.Variant, reset.Load = "reset", v1alpha1.MethodReset, "acl", "10%"
	w.runners.report(b, measured(reset))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
}

func resetNotDescribed(w *world) {
	w.createManaged(resettable("leaf"))
	const listed = "linecard (Hardware), portFlap (Hardware)"
	for name, tc := range map[string]struct {
		reset v1alpha1.ResetTest
		want  string
	}{
		"software": {v1alpha1.ResetTest{Kind: v1alpha1.ResetSoftware}, `spec.tests[0].reset.kind: Invalid value: "Software": the bed describes the resets ` + listed},
		"format":   {v1alpha1.ResetTest{Kind: v1alpha1.ResetHardware, Name: "format"}, `spec.tests[0].reset.name: Invalid value: "format": the bed describes the resets ` + listed},
		"two":      {v1alpha1.ResetTest{Kind: v1alpha1.ResetHardware}, `spec.tests[0].reset.kind: Invalid value: "Hardware": name is missing, and the bed describes 2 resets of the kind Hardware: ` + listed},
	} {
		create(w.t, w.c, resetting(name, "leaf", tc.reset))
		w.Eventually(func() string { return w.benchmark(name).Status.Message }).Should(ContainSubstring(tc.want))
	}
	for want, reset := range map[string]v1alpha1.ResetTest{
		"name chooses a reset of the bed: set trigger to Device": {Kind: v1alpha1.ResetPower, Name: "portFlap"},
		"Too long: may not be more than 63":                      {Kind: v1alpha1.ResetHardware, Name: strings.Repeat("x", 64)},
	} {
		w.Expect(w.c.Create(w.t.Context(), resetting("refused", "leaf", reset))).To(MatchError(ContainSubstring(want)))
	}
}

func resetsRefused(w *world) {
	first := func(change func(*v1alpha1.DeviceReset)) func(*v1alpha1.SSHManagement) {
		return func(m *v1alpha1.SSHManagement) { change(&m.Resets[0]) }
	}
	for want, change := range map[string]func(*v1alpha1.SSHManagement){
		"set kind to Software or Hardware":          first(func(r *v1alpha1.DeviceReset) { r.Kind = v1alpha1.ResetPower }),
		`"port flap" is not the name of a reset`:    first(func(r *v1alpha1.DeviceReset) { r.Name = "port flap" }),
		`Duplicate value: {"name":"portFlap"}`:      first(func(r *v1alpha1.DeviceReset) { r.Name = "portFlap" }),
		"a command has one line of printable ASCII": first(func(r *v1alpha1.DeviceReset) { r.Commands = []string{"shutdown\nformat"} }),
		"Too long: may not be more than 512":        first(func(r *v1alpha1.DeviceReset) { r.Commands = []string{strings.Repeat("x", 513)} }),
		"commands in body should have at least 1":   first(func(r *v1alpha1.DeviceReset) { r.Commands = []string{} }),
		"must have at most 8 items":                 first(func(r *v1alpha1.DeviceReset) { r.Commands = slices.Repeat([]string{"x"}, 9) }),
		"a question on the terminal of the platforms eos, frr, iosxe, junos, nxos and srlinux is not answered": first(func(r *v1alpha1.DeviceReset) { r.Answer = new("y") }),
		"resets are commands, which a session of NETCONF":                                                      func(m *v1alpha1.SSHManagement) { m.Platform = v1alpha1.PlatformNETCONF },
		"resets: Too many: 9: must have at most 8 items":                                                       func(m *v1alpha1.SSHManagement) { m.Resets = slices.Repeat(m.Resets[:1], 9) },
		"an answer has one line of printable ASCII charact": func(m *v1alpha1.SSHManagement) {
			m.Platform, m.Resets[0].Answer = v1alpha1.PlatformNFTables, new("y\ny")
		},
	} {
		bed := resettable("leaf")
		change(bed.Spec.Device.Physical.Management.SSH)
		w.Expect(w.c.Create(w.t.Context(), bed)).To(MatchError(ContainSubstring(want)))
	}
}

// secret reads a Secret.
func (w *world) secret(namespace, name string) *corev1.Secret {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.Expect(w.c.Get(w.t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	return s
}
