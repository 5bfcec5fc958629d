package controllers_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestScales has beds that describe lists whose number of entries benchmarks vary.
func TestScales(t *testing.T) {
	server := startServer(t)
	for name, tc := range map[string]func(*world){
		"a pod gives the device lists":   scalesDevice,
		"what a benchmark cannot choose": scaleNotDescribed,
		"what the API server refuses":    scalesRefused,
	} {
		t.Run(name, func(t *testing.T) { tc(newWorld(t, server)) })
	}
}

// scalable is a managed bed with two lists.
func scalable(name string) *v1alpha1.TestBed {
	bed := managed(name)
	ssh := bed.Spec.Device.Physical.Management.SSH
	ssh.Platform = v1alpha1.PlatformEOS
	list := v1alpha1.AccessListScale{Ports: []string{"e1", "e2"}, Permit: []v1alpha1.AddressPrefix{"198.18.0.0/16"}}
	ssh.Scales = []v1alpha1.DeviceScale{
		{Name: "acl", AccessList: list, Range: v1alpha1.ScaleRange{Minimum: 1, Maximum: 4000}},
		{Name: "short", AccessList: list, Range: v1alpha1.ScaleRange{Minimum: 1, Maximum: 10}},
	}
	return bed
}

// scaling is a benchmark that gives the device lists.
func scaling(name, bed string, test v1alpha1.ConfigurationScaleTest) *v1alpha1.Benchmark {
	return benchmark(name, bed, func(b *v1alpha1.Benchmark) {
		test.Load = "10%"
		b.Spec.Tests = []v1alpha1.Test{{Name: "entries", ConfigurationScale: &test}}
		b.Spec.Variants = []v1alpha1.VariantName{"acl"}
	})
}

// The pod that reads the device has its credentials, the lists and the configuration of the variant. The runner has a name and a range.
func scalesDevice(w *world) {
	w.createManaged(scalable("leaf"))
	create(w.t, w.c, scaling("b", "leaf", v1alpha1.ConfigurationScaleTest{Name: "acl"}))
	b := w.reaches("b", v1alpha1.PhaseRunning)
	pod := w.pod("b", "telemetry")
	args := pod.Spec.Containers[0].Args
	var described v1alpha1.DeviceManagement
	w.Expect(json.Unmarshal([]byte(args[slices.Index(args, "--management")+1]), &described)).To(Succeed())
	w.Expect(described.Scales()).To(HaveLen(2))
	w.Expect(described.Scales()[0].AccessList.Match).To(Equal(v1alpha1.AccessListMatchLast), "the default")
	mounted := map[string]string{}
	for _, v := range pod.Spec.Volumes {
		mounted[v.Name] = v.Secret.SecretName
	}
	w.Expect(mounted).To(HaveKeyWithValue("management-access", "leaf"))
	w.Expect(string(w.secret(pod.Namespace, mounted["configuration"]).Data["wanted.conf"])).To(Equal(aclText))
	for _, role := range []string{"runner", "agent-0"} {
		for _, v := range w.pod("b", role).Spec.Volumes {
			w.Expect(v.Secret == nil || v.Secret.SecretName != "leaf" && v.Secret.SecretName != mounted["configuration"]).To(BeTrue(), "%s has the credentials or configurations of the device", role)
		}
	}
	w.Expect(w.runnerConfig("b").Telemetry).NotTo(BeNil())
	w.noPasswordIn(b)
	found := row(64)
	found.Test, found.Method, found.Variant, found.Load = "entries", v1alpha1.MethodConfigurationScale, "acl", "10%"
	found.ConfigurationScale = &v1alpha1.ConfigurationScaleSummary{Name: "acl", Entries: 40, FailedEntries: 41, MinimumEntries: 1, MaximumEntries: 4000, Configurations: 14, Effect: v1alpha1.ScaleLosesFrames}
	w.runners.report(b, measured(found))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("leaf")
}

func scaleNotDescribed(w *world) {
	w.createManaged(scalable("leaf"))
	for name, tc := range map[string]struct {
		test v1alpha1.ConfigurationScaleTest
		want string
	}{
		"two":  {v1alpha1.ConfigurationScaleTest{}, `spec.tests[0].configurationScale.name: Invalid value: "": name is missing, and the bed describes the lists acl, short`},
		"nat":  {v1alpha1.ConfigurationScaleTest{Name: "nat"}, `spec.tests[0].configurationScale.name: Invalid value: "nat": the bed describes the lists acl, short`},
		"long": {v1alpha1.ConfigurationScaleTest{Name: "short", Maximum: 11}, `spec.tests[0].configurationScale.maximum: Invalid value: 11: test bed leaf allows 1 to 10 entries`},
	} {
		create(w.t, w.c, scaling(name, "leaf", tc.test))
		w.Eventually(func() string { return w.benchmark(name).Status.Message }).Should(ContainSubstring(tc.want))
	}
	for want, test := range map[string]v1alpha1.ConfigurationScaleTest{
		"throughputShare is a share of the load throughput: set load to throughput": {ThroughputShare: "90%"},
		`"120%" is not a share of the throughput`:                                   {ThroughputShare: "120%"},
		"minimum is 20 and maximum 10":                                              {Minimum: 20, Maximum: 10},
		"maxTrials in body should be greater than or equal to 2":                    {MaxTrials: 1},
		"should be less than or equal to 65536":                                     {Maximum: 65537},
	} {
		w.Expect(w.c.Create(w.t.Context(), scaling("refused", "leaf", test))).To(MatchError(ContainSubstring(want)))
	}
}

func scalesRefused(w *world) {
	first := func(change func(*v1alpha1.DeviceScale)) func(*v1alpha1.SSHManagement) {
		return func(m *v1alpha1.SSHManagement) { change(&m.Scales[0]) }
	}
	for want, change := range map[string]func(*v1alpha1.SSHManagement){
		"lists are written for the platforms eos, junos, nftables and nxos": func(m *v1alpha1.SSHManagement) { m.Platform = v1alpha1.PlatformFRR },
		`"Access List" is not the name of a list`:                           first(func(s *v1alpha1.DeviceScale) { s.Name = "Access List" }),
		`Duplicate value: {"name":"short"}`:                                 first(func(s *v1alpha1.DeviceScale) { s.Name = "short" }),
		"the minimum 20 is above the maximum 10":                            first(func(s *v1alpha1.DeviceScale) { s.Range = v1alpha1.ScaleRange{Minimum: 20, Maximum: 10} }),
		"less than or equal to 65536":                                       first(func(s *v1alpha1.DeviceScale) { s.Range.Maximum = 100_000 }),
		"the name of an interface has letters, digits":                      first(func(s *v1alpha1.DeviceScale) { s.AccessList.Ports = []string{"e1\nno shutdown"} }),
		`"198.18.0.1/16" is not a network`:                                  first(func(s *v1alpha1.DeviceScale) { s.AccessList.Permit = []v1alpha1.AddressPrefix{"198.18.0.1/16"} }),
		"should have at least 1 items":                                      first(func(s *v1alpha1.DeviceScale) { s.AccessList.Ports = []string{} }),
	} {
		bed := scalable("leaf")
		change(bed.Spec.Device.Physical.Management.SSH)
		err := w.c.Create(w.t.Context(), bed)
		w.Expect(err).To(MatchError(ContainSubstring(want)), "%v", err)
		w.Expect(strings.Contains(err.Error(), "scales")).To(BeTrue(), "%v", err)
	}
}
