package controllers_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/agent"
)

// secretWord is the password of the test, which no object but the Secrets of agent and
// device may have.
const secretWord = "s3cret-of-peer"

// peered gives a bed a session with a password on each port.
func peered(bed *v1alpha1.TestBed) *v1alpha1.TestBed {
	bed.Spec.Routing = &v1alpha1.BedRouting{BGP: v1alpha1.BGPRouting{DeviceASN: 65000, Sessions: []v1alpha1.BGPSession{
		{Name: "peer", ASN: 65001, PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "bgp", Key: "peer"}},
	}}}
	return bed
}

// TestPasswords has passwords of BGP sessions reach agents and device, and nothing else.
func TestPasswords(t *testing.T) {
	w := newWorld(t, startServer(t))
	topology := configMap("router", "topology.clab.yaml", "name: frr\ntopology: {nodes: {dut: {binds: [\"device.frr.conf:/etc/frr/frr.conf:ro\"]}}}\n")
	create(w.t, w.c, topology, peered(virtual("frr")), profile(), benchmark("b", "frr"))
	unready := func(want string) {
		t.Helper()
		w.Eventually(func() string {
			c := meta.FindStatusCondition(w.bed("frr").Status.Conditions, v1alpha1.ConditionReady)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonBedInvalid {
				return ""
			}
			return c.Message
		}).Should(ContainSubstring(want))
	}
	unready("spec.routing.bgp.sessions[0].passwordSecretRef.name: Secret bgp is not in the lab's namespace nodrop-lab: create it there")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bgp", Namespace: labNamespace}, StringData: map[string]string{"other": secretWord}}
	create(w.t, w.c, secret)
	t.Cleanup(func() { w.Expect(w.c.Delete(context.Background(), secret)).To(Succeed()) })
	unready("passwordSecretRef.key: Secret bgp has no key peer: add it")
	change := func(password string) {
		secret.StringData = map[string]string{"peer": password}
		w.Expect(w.c.Update(w.t.Context(), secret)).To(Succeed())
	}
	change(secretWord + " with spaces")
	unready("key peer of Secret bgp: the password has a character that configurations do not hold")
	change(secretWord + "\n")
	w.Ready("frr")
	b := w.reaches("b", v1alpha1.PhaseRunning)

	var secrets corev1.SecretList
	w.Expect(w.c.List(t.Context(), &secrets, client.InNamespace(labNamespace))).To(Succeed())
	holders := 0
	for _, s := range secrets.Items {
		switch {
		case strings.HasSuffix(s.Name, "-agent-0"):
			var config agent.Config
			w.Expect(json.Unmarshal(s.Data["agent.json"], &config)).To(Succeed())
			w.Expect(config.Speaker.Passwords).To(HaveLen(2))
			w.Expect(string(config.Speaker.Passwords["peer-p2"])).To(Equal(secretWord))
			holders++
		case strings.HasSuffix(s.Name, "-device"):
			w.Expect(s.Data).To(HaveKey("sessions.json.zst"))
			holders++
		case s.Name != "bgp":
			text, err := json.Marshal(s)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(string(text)).NotTo(ContainSubstring(secretWord), s.Name)
		}
	}
	w.Expect(holders).To(Equal(2))
	config, err := json.Marshal(w.runnerConfig("b"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(config)).NotTo(ContainSubstring(secretWord), "the configuration of the runner")
	up := w.pod("b", "device-up")
	w.Expect(up.Spec.Containers[0].Args).To(ContainElements("--sessions", "/etc/nodrop/topology/sessions.json.zst"))
	for _, kind := range []string{"Pod", "ConfigMap", "Event"} {
		w.without(secretWord, corev1.SchemeGroupVersion.WithKind(kind+"List"))
	}
	for _, kind := range []string{"Benchmark", "TestBed", "BenchmarkSnapshot", "BenchmarkResult"} {
		w.without(secretWord, v1alpha1.GroupVersion.WithKind(kind+"List"))
	}
	w.runners.report(b, measured(row(64)))
	w.reaches("b", v1alpha1.PhaseMeasured)
	w.bedIsClean("frr")
}

// without checks that no object of a kind contains a word.
func (w *world) without(word string, list schema.GroupVersionKind) {
	w.t.Helper()
	all := networks()
	all.SetGroupVersionKind(list)
	w.Expect(w.c.List(w.t.Context(), all)).To(Succeed())
	text, err := json.Marshal(all)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(string(text)).NotTo(ContainSubstring(word), list.Kind)
}

// TestTopologyWithoutSessions has a topology that uses a configuration which does not exist.
func TestTopologyWithoutSessions(t *testing.T) {
	w := newWorld(t, startServer(t))
	create(w.t, w.c, configMap("router", "topology.clab.yaml", "binds: [device.frr.conf:/etc/frr/frr.conf]\n"), virtual("frr"))
	w.Eventually(func() string {
		c := meta.FindStatusCondition(w.bed("frr").Status.Conditions, v1alpha1.ConditionReady)
		if c == nil {
			return ""
		}
		return c.Message
	}).Should(Equal("key topology.clab.yaml of ConfigMap router mentions device.frr.conf, which is made from the sessions and the multicast routing of the bed, and the bed has neither: add spec.routing, or name another file in the topology"))
}
