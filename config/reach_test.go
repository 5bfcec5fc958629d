package config

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// peer is one end of a connection: a pod, or an address outside of the cluster.
type peer struct {
	namespace string
	labels    map[string]string
	ports     []corev1.ContainerPort
	address   string
}

func peerOf(namespace string, pod *corev1.PodTemplateSpec) peer {
	p := peer{namespace: namespace, labels: pod.Labels}
	for _, c := range pod.Spec.Containers {
		p.ports = append(p.ports, c.Ports...)
	}
	return p
}

// policies are the NetworkPolicies of a cluster, as a network plugin evaluates them.
type policies []networkingv1.NetworkPolicy

func policiesOf(t *testing.T, objects []object) policies {
	t.Helper()
	var all policies
	for _, o := range objects {
		if o.GetKind() != "NetworkPolicy" {
			continue
		}
		var p networkingv1.NetworkPolicy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &p, true); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// allow reports whether one peer can connect to a TCP port of another.
func (all policies) allow(from, to peer, port int32) bool {
	out := all.side(from, networkingv1.PolicyTypeEgress, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return matches(p.Namespace, r.To, to) && opens(r.Ports, to, port)
		})
	})
	in := all.side(to, networkingv1.PolicyTypeIngress, func(p networkingv1.NetworkPolicy) bool {
		return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return matches(p.Namespace, r.From, from) && opens(r.Ports, to, port)
		})
	})
	return out && in
}

// side reports whether the policies that select a pod allow it: some rule does, or no
// policy of this direction selects the pod.
func (all policies) side(pod peer, direction networkingv1.PolicyType, allows func(networkingv1.NetworkPolicy) bool) bool {
	selected := false
	for _, p := range all {
		if pod.address != "" || p.Namespace != pod.namespace || !selects(&p.Spec.PodSelector, pod.labels) || !slices.Contains(p.Spec.PolicyTypes, direction) {
			continue
		}
		selected = true
		if allows(p) {
			return true
		}
	}
	return !selected
}

func selects(s *metav1.LabelSelector, set map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(set))
}

func matches(own string, peers []networkingv1.NetworkPolicyPeer, p peer) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(n networkingv1.NetworkPolicyPeer) bool {
		if n.IPBlock != nil {
			address, err := netip.ParseAddr(p.address)
			return err == nil && netip.MustParsePrefix(n.IPBlock.CIDR).Contains(address)
		}
		inNamespace := p.namespace == own
		if n.NamespaceSelector != nil {
			inNamespace = selects(n.NamespaceSelector, map[string]string{corev1.LabelMetadataName: p.namespace})
		}
		return p.address == "" && inNamespace && (n.PodSelector == nil || selects(n.PodSelector, p.labels))
	})
}

func opens(ports []networkingv1.NetworkPolicyPort, to peer, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(n networkingv1.NetworkPolicyPort) bool {
		if *n.Protocol != corev1.ProtocolTCP {
			return false
		}
		if n.Port.Type == intstr.Int {
			return n.Port.IntVal == port
		}
		return slices.ContainsFunc(to.ports, func(c corev1.ContainerPort) bool { return c.Name == n.Port.StrVal && c.ContainerPort == port })
	})
}

// aRun returns pods of a run as the operator makes them, by role.
func aRun(t *testing.T) map[string]peer {
	t.Helper()
	settings := labobjects.Settings{Namespace: operator.DefaultLabNamespace, Image: "i", TRexImage: "t"}
	run := labobjects.Run{Namespace: "team", Name: "b", UID: "0f8fad5b-d9cb-469f-a165-70867728950e"}
	bed := objects.TestBed("",
		objects.TRex(&v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}),
		objects.Ports(v1alpha1.Port{Name: "p1", Node: "n", Attachment: objects.HostDevice("p1")}),
	)
	agent, err := labobjects.AgentPod(settings, run, labobjects.Agents(bed)[0], bed)
	if err != nil {
		t.Fatal(err)
	}
	bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Management: objects.Managed("leaf", "198.51.100.9:22", "base.conf")}
	sec, err := labobjects.ConfigurationSecret(settings, run, bed, bed.Spec.Device.Management(), "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	configure, err := labobjects.DeviceUpPod(settings, run, sec)
	if err != nil {
		t.Fatal(err)
	}
	bed.Spec.Hooks = &v1alpha1.LeaseHooks{BeforeLease: []v1alpha1.LeaseHook{{Name: "load", Image: "i"}}}
	if sec, err = labobjects.HooksSecret(settings, run, bed, nil); err != nil {
		t.Fatal(err)
	}
	hooks, err := labobjects.ReadHooks(sec)
	if err != nil {
		t.Fatal(err)
	}
	hook := labobjects.HookPod(settings, run, hooks, labobjects.BeforeLease, 0)
	bed.Spec.Device.Physical.Telemetry = &v1alpha1.DeviceTelemetry{SNMP: &v1alpha1.SNMPTelemetry{Address: "198.51.100.9:161"}, SecretName: "leaf"}
	telemetry, err := labobjects.TelemetryOf(bed).Pod(settings, run)
	if err != nil {
		t.Fatal(err)
	}
	peers := map[string]peer{}
	for role, pod := range map[string]*corev1.Pod{"configure": configure, "hook": hook, "telemetry": telemetry, "agent": agent, "runner": labobjects.RunnerPod(settings, run, 1)} {
		peers[role] = peerOf(pod.Namespace, &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
	}
	return peers
}

// TestWhoReachesWhom evaluates the policies as a network plugin would. The local
// cluster's plugin does not enforce them, so that nothing else shows what they do.
func TestWhoReachesWhom(t *testing.T) {
	charted, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := chart(t, "--set", "metrics.enabled=true,networkPolicy.apiServer.cidrs={10.96.0.1/32,192.0.2.0/24}",
		"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]`,
		"--set-json", `networkPolicy.operatorEgress=[{"to":[{"ipBlock":{"cidr":"198.51.100.7/32"}}],"ports":[{"port":9000,"protocol":"TCP"}]}]`,
		"--set-json", `networkPolicy.managementEgress=[{"to":[{"ipBlock":{"cidr":"198.51.100.9/32"}}],"ports":[{"port":22,"protocol":"TCP"}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	type connection struct {
		from, to string
		port     int32
	}
	usual := []connection{
		{"operator", "runner", labobjects.RunnerPort}, {"runner", "agent", labobjects.AgentPort}, {"runner", "telemetry", labobjects.AgentPort},
		{"API server", "operator", 9443}, {"operator", "API server", 6443}, {"operator", "API server", 443},
	}
	anywhere := append(slices.Clone(usual), []connection{
		{"elsewhere", "operator", 9443}, {"operator", "elsewhere", 6443}, {"operator", "elsewhere", 443},
		{"device", "operator", 9443}, {"operator", "device", 6443}, {"operator", "device", 443},
		{"bucket", "operator", 9443}, {"operator", "bucket", 6443}, {"operator", "bucket", 443},
		{"team", "operator", 9443}, {"Prometheus", "operator", 9443}, {"runner of a team", "operator", 9443}, {"operator of a team", "operator", 9443},
		{"operator", "team", 443}, {"operator", "team", 6443}, {"operator", "Prometheus", 443}, {"operator", "Prometheus", 6443},
		{"operator", "runner of a team", 443}, {"operator", "runner of a team", 6443}, {"operator", "operator of a team", 443}, {"operator", "operator of a team", 6443},
	}...)
	for name, tc := range map[string]struct {
		objects []object
		want    []connection
	}{
		"chart":         {charted, anywhere},
		"kustomization": {kustomization(t, "default"), anywhere},
		"narrow":        {narrow, append(slices.Clone(usual), connection{"configure", "device", 22}, connection{"hook", "device", 22}, connection{"telemetry", "device", 22}, connection{"operator", "bucket", 9000}, connection{"Prometheus", "operator", 8443})},
	} {
		t.Run(name, func(t *testing.T) {
			var deployment appsv1.Deployment
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, tc.objects, "Deployment", "nodrop-operator").Object, &deployment); err != nil {
				t.Fatal(err)
			}
			peers := aRun(t)
			peers["operator"] = peerOf(deployment.Namespace, &deployment.Spec.Template)
			peers["another pod of the lab"] = peer{namespace: operator.DefaultLabNamespace}
			peers["team"] = peer{namespace: "team-routing"}
			peers["Prometheus"] = peer{namespace: "monitoring"}
			// Labels identify a peer only in the lab's and in the operator's namespace.
			peers["runner of a team"] = peer{namespace: "team-routing", labels: peers["runner"].labels}
			peers["operator of a team"] = peer{namespace: "team-routing", labels: peers["operator"].labels}
			peers["API server"] = peer{address: "192.0.2.1"}
			peers["bucket"] = peer{address: "198.51.100.7"}
			peers["device"] = peer{address: "198.51.100.9"}
			peers["elsewhere"] = peer{address: "203.0.113.1"}
			all := policiesOf(t, tc.objects)
			for from := range peers {
				for to := range peers {
					ours := peers[from].namespace == operator.DefaultLabNamespace || peers[from].namespace == operator.DefaultNamespace ||
						peers[to].namespace == operator.DefaultLabNamespace || peers[to].namespace == operator.DefaultNamespace
					if from == to || !ours {
						continue
					}
					for _, port := range []int32{22, 443, 4500, 4501, 6443, labobjects.AgentPort, labobjects.RunnerPort, 8081, 8443, 9000, 9443} {
						c := connection{from, to, port}
						if got, want := all.allow(peers[from], peers[to], port), slices.Contains(tc.want, c); got != want {
							t.Errorf("%s: allowed %t, want %t", fmt.Sprintf("%s -> %s:%d", from, to, port), got, want)
						}
					}
				}
			}
		})
	}
}

// TestPoliciesCanBeTurnedOff: a cluster may have policies of its own.
func TestPoliciesCanBeTurnedOff(t *testing.T) {
	objects, err := chart(t, "--set", "networkPolicy.enabled=false")
	if err != nil {
		t.Fatal(err)
	}
	if all := policiesOf(t, objects); len(all) > 0 {
		t.Errorf("%d policies, want none", len(all))
	}
}
