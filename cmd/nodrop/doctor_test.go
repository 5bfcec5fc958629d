//go:build !standalone

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// patients is a cluster that is looked at.
type patients struct {
	client.Client
	t       *testing.T
	admin   *rest.Config
	env     *envtest.Environment
	nodes   *fakeNodes
	version string
}

// TestDoctor looks at one cluster while more and more is there.
func TestDoctor(t *testing.T) {
	sendsNoFrames(t)
	config, env := testserver.StartAPIServer(t, nil)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := kube.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	p := &patients{Client: c, t: t, admin: config, env: env, version: version.GitVersion,
		nodes: &fakeNodes{t: t, admin: c, kubelet: map[string]doctor.Kubelet{}, probe: map[string]probe.Node{}}}
	p.laptop()
	t.Run("without NoDrop", p.without)
	p.install()
	t.Run("laptop", p.ofALaptop)
	t.Run("interrupted", p.interrupted)
	t.Run("restricted namespace", p.restricted)
	t.Run("bed", p.ofABed)
	t.Run("rights", p.rights)
	p.server()
	t.Run("whole", p.isWhole)
	t.Run("use", p.use)
	t.Run("recorder", p.recorder)
}

// create creates an object with its status.
func (p *patients) create(o client.Object) {
	p.t.Helper()
	whole := o.DeepCopyObject().(client.Object)
	if err := p.Create(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
	whole.SetResourceVersion(o.GetResourceVersion())
	whole.SetUID(o.GetUID())
	if err := p.Status().Update(p.t.Context(), whole); err != nil {
		p.t.Fatal(err)
	}
}

// laptop is a node with little.
func (p *patients) laptop() {
	p.t.Helper()
	p.node("laptop", corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("3870Mi"), "hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0")})
	p.nodes.kubelet["laptop"] = doctor.Kubelet{CPUManagerPolicy: "none", TopologyManagerPolicy: "none"}
	p.nodes.probe["laptop"] = probe.Node{
		CPUFlags: probe.FlagsOfInterest, NUMANodes: 1, BPF: true, PacketSockets: true,
		HugePages: []probe.HugePages{{SizeBytes: 2 << 20}, {SizeBytes: 1 << 30}},
		Cards:     []probe.Card{{Address: "0000:00:03.0", Vendor: "0x1af4", Driver: "virtio-pci"}},
	}
}

// server is a node with everything.
func (p *patients) server() {
	p.t.Helper()
	p.node("server", corev1.ResourceList{
		"cpu": resource.MustParse("32"), "memory": resource.MustParse("120Gi"), "hugepages-1Gi": resource.MustParse("16Gi"),
		"intel.com/dut": resource.MustParse("8"),
	})
	p.nodes.kubelet["server"] = doctor.Kubelet{CPUManagerPolicy: "static", TopologyManagerPolicy: "single-numa-node"}
	p.nodes.probe["server"] = probe.Node{
		CPUFlags: probe.FlagsOfInterest, NUMANodes: 2, BPF: true, PacketSockets: true, IOMMUGroups: 83, VFIO: true,
		HugePages: []probe.HugePages{{SizeBytes: 1 << 30, Total: 16}},
		Cards:     []probe.Card{{Address: "0000:3b:00.0", Vendor: "0x8086", Driver: "ice", VirtualFunctions: 64}},
	}
	p.bed("server-router", "server")
	p.measured("router", "server-router")
}

func (p *patients) node(name string, allocatable corev1.ResourceList) {
	p.t.Helper()
	p.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Capacity: allocatable, Allocatable: allocatable,
		NodeInfo: corev1.NodeSystemInfo{
			KernelVersion: "6.12.41", Architecture: "amd64", KubeletVersion: "v1.36.0",
			ContainerRuntimeVersion: "containerd://2.4.2", OperatingSystem: "linux",
		},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
	}})
	// A node without a controller manager keeps the taint of a new one.
	var node corev1.Node
	if err := p.Get(p.t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
		p.t.Fatal(err)
	}
	node.Spec.Taints = nil
	if err := p.Update(p.t.Context(), &node); err != nil {
		p.t.Fatal(err)
	}
}

// install does what the chart and Multus do.
func (p *patients) install() {
	p.t.Helper()
	_, err := envtest.InstallCRDs(p.admin, envtest.CRDInstallOptions{Paths: []string{filepath.Join(kubetest.Root(p.t), "hack", "cluster", "node", "manifests", "multus.yaml")}, MaxTime: patience})
	if err != nil {
		p.t.Fatal(err)
	}
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "nodrop-lab", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}}})
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "nodrop-system", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})
	labels := map[string]string{"app": "nodrop-operator"}
	p.create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "nodrop-system", Name: "nodrop-operator"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "example.test/nodrop:1",
				Args: []string{"operator", "--trex-image=example.test/trex:v3.08"}}}},
		}},
		Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1},
	})
	p.bed("laptop-router", "laptop")
}

// bed makes a bed with a virtual device on a node.
func (p *patients) bed(name, node string) {
	p.t.Helper()
	bed := p.newBed(name, node, func(i string) *v1alpha1.Attachment {
		return objects.HostDevice("nd-" + i)
	})
	bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	bed.Spec.Device.Containerlab = &v1alpha1.ContainerlabDevice{Node: "dut"}
	bed.Spec.Device.Containerlab.Topology.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: "router", Key: "topology.clab.yaml"}
	p.create(bed)
}

func (p *patients) newBed(name, node string, attachment func(port string) *v1alpha1.Attachment) *v1alpha1.TestBed {
	bed := objects.TestBed(name)
	for _, port := range []string{"p1", "p2"} {
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{Name: port, Node: node, Speed: "10G", Attachment: attachment(port)})
	}
	bed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1,
		Reason: v1alpha1.ReasonBedReady, Message: "benchmarks can lease the bed", LastTransitionTime: metav1.Now()}}
	return bed
}

// measured creates a benchmark that has passed on a bed.
func (p *patients) measured(name, bed string) {
	p.t.Helper()
	var b v1alpha1.Benchmark
	text := `{"metadata":{"name":"` + name + `","namespace":"default"},"spec":{"testBedName":"` + bed + `","trafficProfileName":"pairs",
		"settleTime":"2s","restTime":"5s","tests":[{"name":"throughput","throughput":{"trialDuration":"60s","searchTrialDuration":"10s"}}]}}`
	if err := yaml.Unmarshal([]byte(text), &b); err != nil {
		p.t.Fatal(err)
	}
	b.Status = v1alpha1.BenchmarkStatus{Phase: v1alpha1.PhasePassed, TestBedName: bed, Results: &v1alpha1.ResultSummary{Rows: 1, Parts: 1}}
	p.create(&b)
}

// doctor runs the command as the administrator.
func (p *patients) doctor(t *testing.T, args ...string) *process {
	t.Helper()
	return start(t, append([]string{"doctor", "--kubeconfig", p.nodes.front(p.admin)}, args...)...)
}

// golden compares what a command printed with a file.
func (p *patients) golden(t *testing.T, name string, process *process) {
	t.Helper()
	file := filepath.Join("testdata", "doctor", name)
	// The API server is whichever the machine has.
	got := strings.ReplaceAll(process.stdout.String(), p.version, "v1.0.0-server")
	if *updateGolden {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), after a wanted change: go test ./cmd/nodrop -run TestDoctor -update\n%s", name, diff)
	}
}

// noPodsAreLeft: neither those that were tried nor those that looked.
func (p *patients) noPodsAreLeft(t *testing.T) {
	t.Helper()
	var pods corev1.PodList
	if err := p.List(t.Context(), &pods); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		t.Errorf("pod %s/%s was left behind", pod.Namespace, pod.Name)
	}
}

func (p *patients) without(t *testing.T) {
	d := p.doctor(t)
	d.wants(exit.Failed, "\ntrex (line rate): ", "")
	p.golden(t, "without.txt", d)
	d = p.doctor(t, "--engine", "xdp", "--probe", "-o", "json")
	d.wants(exit.Failed, "the operator, whose image reads nodes, was not found", "")
}

func (p *patients) ofALaptop(t *testing.T) {
	d := p.doctor(t, "--probe")
	d.wants(exit.Failed, "xdp: ready\n", "")
	p.golden(t, "laptop.txt", d)
	p.noPodsAreLeft(t)

	d = p.doctor(t, "--engine", "xdp,trex-software", "--probe", "-o", "json")
	d.wants(exit.Passed, "", "")
	var r doctor.Report
	if err := json.Unmarshal([]byte(d.stdout.String()), &r); err != nil {
		t.Fatal(err)
	}
	want := []doctor.Summary{{Engine: doctor.XDP, State: doctor.Ready}, {Engine: doctor.TRexSoftware, State: doctor.Ready}}
	if diff := cmp.Diff(want, r.Engines); diff != "" || len(r.Findings) == 0 || r.Lab != "nodrop-lab" || r.Namespace != "nodrop-system" {
		t.Errorf("engines (-want +got)\n%s\n%+v", diff, r)
	}

	// What is not looked at is not known, and not good.
	p.doctor(t, "--engine", "xdp").wants(exit.Invalid, "xdp: 1 thing not known (kernel features)\n", "")
	// The probe pod never runs: the command ends anyway.
	delete(p.nodes.probe, "laptop")
	p.doctor(t, "--engine", "xdp", "--probe", "--probe-timeout", "1s", "-o", "json").wants(exit.Invalid, "did not end within 1s", "")
	p.noPodsAreLeft(t)
}

// interrupted: who stops the command leaves no pod behind.
func (p *patients) interrupted(t *testing.T) {
	delete(p.nodes.probe, "laptop")
	d := p.doctor(t, "--engine", "xdp", "--probe")
	var pods corev1.PodList
	eventually(t, "a pod that looks", func() bool { return p.List(t.Context(), &pods) == nil && len(pods.Items) == 1 },
		func() string { return d.stderr.String() })
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	d.wants(exit.Use, "", "looking at the cluster was interrupted")
	p.noPodsAreLeft(t)
}

func (p *patients) restricted(t *testing.T) {
	p.laptopRuns()
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "strict", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})
	d := p.doctor(t, "--engine", "xdp", "--lab-namespace", "strict", "--probe", "--probe-image", "example.test/nodrop:1", "-o", "json")
	d.wants(exit.Failed, `violates PodSecurity \"restricted:latest\"`, "")
	if want := `"seen": "BPF`; !strings.Contains(d.stdout.String(), want) {
		t.Errorf("the pod that looks was not admitted: %s", &d.stdout)
	}
	p.noPodsAreLeft(t)
	p.doctor(t, "--engine", "containerlab", "--lab-namespace", "nowhere", "-o", "json").wants(exit.Failed, "there is no namespace nowhere", "")
}

func (p *patients) ofABed(t *testing.T) {
	bed := p.newBed("chassis", "laptop", func(port string) *v1alpha1.Attachment {
		return &v1alpha1.Attachment{SRIOV: &v1alpha1.SRIOVAttachment{ResourceName: "intel.com/dut", NetworkName: "dut"}}
	})
	bed.Spec.Engine = v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{
		Image: "example.test/trex:mine", HugePages: &v1alpha1.TRexHugePages{PageSize: "1Gi", Total: resource.MustParse("4Gi")}}}
	bed.Spec.Device.Physical = &v1alpha1.PhysicalDevice{Vendor: "example", Model: "chassis"}
	bed.Spec.Ports[1].Node = "gone"
	bed.Status.Conditions[0].Status, bed.Status.Conditions[0].Reason = metav1.ConditionFalse, v1alpha1.ReasonBedInvalid
	bed.Status.Conditions[0].Message = `spec.ports[1].node: the cluster has no node "gone"`
	p.create(bed)
	d := p.doctor(t, "--bed", "chassis")
	d.wants(exit.Failed, "things missing", "")
	p.golden(t, "bed.txt", d)
	p.doctor(t, "--bed", "chassis", "--engine", "sim").wants(exit.Use, "", "bed chassis does not use --engine sim: it needs trex")
	p.doctor(t, "--bed", "chasis").wants(exit.Use, "", "hint: there are chassis, laptop-router")
}

// rights checks that users with fewer rights see less, and that doctor names the missing
// rights.
func (p *patients) rights(t *testing.T) {
	user, err := p.env.AddUser(envtest.User{Name: "visitor"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	visitor := p.nodes.front(user.Config())
	d := start(t, "doctor", "--kubeconfig", visitor)
	d.wants(exit.Use, "", "hint: ask the cluster's administrator for the right to list nodes: docs/cli.md")
	if want := `cannot list resource "nodes"`; !strings.Contains(d.stderr.String(), want) {
		t.Errorf("stderr lacks %q: %s", want, &d.stderr)
	}

	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sees-nodes"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}}}
	p.grant(t, role, "visitor")
	d = start(t, "doctor", "--kubeconfig", visitor, "--engine", "xdp,containerlab", "--probe", "--probe-image", "example.test/nodrop:1", "-o", "json")
	d.wants(exit.Invalid, "you may not get deployments in namespace nodrop-system", "")
	for _, want := range []string{"you may not list daemonsets in all namespaces", "you may not create pods in namespace nodrop-lab", "you may not list testbeds"} {
		if !strings.Contains(d.stdout.String(), want) {
			t.Errorf("stdout lacks %q: %s", want, &d.stdout)
		}
	}

	// The role of the documentation is enough for all.
	user, err = p.env.AddUser(envtest.User{Name: "engineer"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range documentedRoles(t) {
		if cluster, ok := o.(*rbacv1.ClusterRole); ok {
			p.grant(t, cluster, "engineer")
			continue
		}
		role := o.(*rbacv1.Role)
		kubetest.Grant(t, p, role, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: role.Namespace, Name: role.Name},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "engineer"}}})
	}
	p.laptopRuns()
	d = start(t, "doctor", "--kubeconfig", p.nodes.front(user.Config()), "--probe", "-o", "json")
	if d.exit() != exit.Failed || strings.Contains(d.stdout.String(), "you may not") {
		t.Errorf("exit code %d\n%s\n%s", d.cmd.ProcessState.ExitCode(), &d.stdout, &d.stderr)
	}
	p.noPodsAreLeft(t)
}

// laptopRuns lets the laptop run pods again.
func (p *patients) laptopRuns() {
	p.nodes.probe["laptop"] = probe.Node{BPF: true, CPUFlags: probe.FlagsOfInterest}
}

func (p *patients) grant(t *testing.T, role *rbacv1.ClusterRole, user string) {
	t.Helper()
	kubetest.Grant(t, p, role, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}}})
}

// documentedRoles returns the roles from docs/cli.md.
func documentedRoles(t *testing.T) []client.Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- doctor-rights -->\n```yaml\n")
	manifest, _, ended := strings.Cut(rest, "```")
	if !ended {
		t.Fatal("docs/cli.md does not tell the rights of doctor")
	}
	var roles []client.Object
	for document := range strings.SplitSeq(manifest, "---\n") {
		var role client.Object = &rbacv1.Role{}
		if strings.Contains(document, "kind: ClusterRole\n") {
			role = &rbacv1.ClusterRole{}
		}
		if err := yaml.UnmarshalStrict([]byte(document), role); err != nil {
			t.Fatal(err)
		}
		roles = append(roles, role)
	}
	return roles
}

func (p *patients) isWhole(t *testing.T) {
	d := p.doctor(t, "--probe")
	d.wants(exit.Passed, "trex (line rate): ready on server\n", "")
	p.golden(t, "whole.txt", d)
	p.doctor(t, "--probe", "--node", "server").wants(exit.Passed, "trex (line rate): ready\n", "")
	p.doctor(t, "--probe", "--node", "server,laptop").wants(exit.Failed, "xdp: ready\n", "")
	p.doctor(t, "--probe", "--bed", "server-router").wants(exit.Passed, "containerlab devices: ready\n", "")
	p.noPodsAreLeft(t)
}

// recorder: who has the role of the documentation sees what it says of its spool.
func (p *patients) recorder(t *testing.T) {
	labels := map[string]string{"app.kubernetes.io/name": "nodrop", "app.kubernetes.io/component": "recorder"}
	meta := metav1.ObjectMeta{Namespace: "nodrop-system", Name: "nodrop-recorder", Labels: labels}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: new(false), SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "recorder", Image: "example.test/nodrop:1", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}},
	}
	p.create(&appsv1.Deployment{ObjectMeta: meta,
		Spec:   appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}},
		Status: appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1},
	})
	p.create(&corev1.Pod{ObjectMeta: meta, Spec: pod})
	state := recorder.State{Rows: 3, Series: 70, Bytes: 1300, Limit: 1 << 20, Problem: "401: unauthorized", Since: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	p.nodes.recorder = &state
	user, err := p.env.AddUser(envtest.User{Name: "engineer"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := start(t, "doctor", "--engine", "sim", "-o", "json", "--kubeconfig", p.nodes.front(user.Config()))
	d.wants(exit.Passed, "3 rows and 70 samples and trials wait for the database; 1300 of 1048576 bytes are used; the database takes none since 2026-11-23T12:00:00Z: 401: unauthorized", "")
}

func (p *patients) use(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an engine that is none": {[]string{"--engine", "dpdk"}, `--engine "dpdk" is not an engine: give sim, xdp, trex-software, trex, containerlab`},
		"a format that is none":  {[]string{"-o", "html"}, `"html" is not an output format: give table, json or yaml`},
		"no time":                {[]string{"--probe", "--probe-timeout", "0s"}, "--probe-timeout is 0s"},
	} {
		t.Run(name, func(t *testing.T) { p.doctor(t, tc.args...).wants(exit.Use, "", tc.want) })
	}
	d := p.doctor(t, "--node", "nowhere")
	d.wants(exit.Failed, "the cluster has no node of this name", "")
	if slices.Contains(strings.Fields(d.stdout.String()), "Docker") {
		t.Error("what is on a node that is not there was judged")
	}
}
