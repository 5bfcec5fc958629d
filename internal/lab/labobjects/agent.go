package labobjects

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/workload"
)

// Agent is one traffic pod: all ports of a bed on one node.
type Agent struct {
	// Index counts agents from 0, in the order in which the bed names nodes.
	Index int
	// Node that holds the ports.
	Node string
	// Ports of the bed on that node, in the bed's order.
	Ports []v1alpha1.Port
	// Device contains the processors of the node on which a virtual device works; empty if the
	// node has none.
	Device device.Placement
	// Hosts reports whether hosts of workloads run on the ports.
	Hosts bool
	// certificates is the name of the secret with the agent's certificate.
	certificates string
}

// Agents returns the traffic pods that a bed needs; none with the engine sim.
func Agents(bed *v1alpha1.TestBed) []Agent {
	if bed.Spec.Engine.Kind == v1alpha1.EngineSim {
		return nil
	}
	var agents []Agent
	for _, port := range bed.Spec.Ports {
		i := slices.IndexFunc(agents, func(a Agent) bool { return a.Node == port.Node })
		if i < 0 {
			i = len(agents)
			agents = append(agents, Agent{Index: i, Node: port.Node})
		}
		agents[i].Ports = append(agents[i].Ports, port)
	}
	return agents
}

// PodName is the name of the agent's pod, and of its secret.
func (a Agent) PodName(run Run) string { return run.agentName(a.Index) }

// Endpoint is the agent's address for the runner.
func (a Agent) Endpoint(run Run, podIP string) runner.AgentEndpoint {
	e := runner.AgentEndpoint{Name: run.agentHost(a.Index), Address: hostPort(podIP, AgentPort)}
	for _, p := range a.Ports {
		e.Ports = append(e.Ports, p.Name)
	}
	return e
}

// Keys of the agent's secret, and the files of that name in the containers.
const (
	agentFile = "agent.json"
	trexFile  = "trex.json"
)

// Passwords contains the passwords of TCP MD5 by BGP session.
type Passwords map[string]routing.Secret

// AgentSecret returns the Secret with the configuration of the agent, and of the TRex server in the
// same pod. It contains only the passwords of sessions on the agent's ports.
func AgentSecret(s Settings, run Run, a Agent, bed *v1alpha1.TestBed, profile *v1alpha1.TrafficProfile, passwords Passwords) (*corev1.Secret, error) {
	ports, problems := plan.Ports(bed)
	if len(problems) > 0 {
		return nil, fmt.Errorf("configuring agent %d: %w", a.Index, problems.ToAggregate())
	}
	interfaces := map[string]string{}
	for _, p := range a.Ports {
		interfaces[p.Name] = podInterface(p)
	}
	cfg := agent.Config{Node: a.Node, DeviceProcessors: a.Device.Device, Together: a.Device.Together, Transmit: string(bed.Spec.Engine.TransmitPath())}
	if n := bed.Spec.Engine.SendersPerPort(); n > 1 {
		cfg.SendersPerPort = n
	}
	for _, p := range ports {
		if p.Node != a.Node {
			continue
		}
		c := agent.PortConfig{Name: p.Name, Interface: interfaces[p.Name], SpeedBitsPerSecond: p.BitsPerSecond, VLANs: p.VLANsUnder(profile)}
		for _, address := range p.Addresses {
			c.Addresses = append(c.Addresses, address.String())
		}
		if own, further := p.FurtherHosts(profile); further > 0 {
			c.Hosts = &agent.Hosts{After: own.String(), Count: further}
		}
		cfg.Ports = append(cfg.Ports, c)
	}
	if a.Hosts {
		cfg.Hosts = hostPorts(a, ports, profile)
	}
	sessions, problems := plan.Sessions(bed)
	if len(problems) > 0 {
		return nil, fmt.Errorf("configuring agent %d: %w", a.Index, problems.ToAggregate())
	}
	for _, session := range sessions {
		if _, has := interfaces[session.Port]; !has {
			continue
		}
		if cfg.Speaker == nil {
			cfg.Speaker = &agent.SpeakerConfig{}
		}
		if session.Password != nil {
			traffic.Put(&cfg.Speaker.Passwords, session.Name, passwords[session.Name])
		}
	}
	files := map[string]any{}
	if trex := bed.Spec.Engine.Server(); trex != nil {
		cfg.TRex, files[trexFile] = trexConfigs(trex, a.Ports, a.Hosts)
	}
	files[agentFile] = cfg
	data := map[string][]byte{}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("writing %s of agent %d: %w", name, a.Index, err)
		}
		data[name] = text
	}
	if size := sizeOf(data); size > maxFiles {
		return nil, fmt.Errorf("the configuration of agent %d has %d KiB, and at most %d KiB are allowed: have fewer BGP sessions with passwords on the ports of node %s", a.Index, kib(size), kib(maxFiles), a.Node)
	}
	return secret(s, run, a.PodName(run), RoleAgent, data), nil
}

// AgentPod owns the ports of one node. A killed container restarts in the same sandbox,
// so that address and interfaces stay. With the engine trex a TRex server in the same
// pod has the ports.
func AgentPod(s Settings, run Run, a Agent, bed *v1alpha1.TestBed) (*corev1.Pod, error) {
	pod := pod(s, run, a.PodName(run), RoleAgent)
	if err := requestNetworks(pod, run, a.Ports); err != nil {
		return nil, err
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	pod.Spec.Affinity = onNode(a.Node)
	pod.Spec.Volumes = []corev1.Volume{
		configVolume("config", a.PodName(run), agentFile),
		certificateVolume(cmp.Or(a.certificates, run.certificatesName()), ownerAgent(a.Index)),
	}
	pod.Spec.Containers = []corev1.Container{agentContainer(s, run, a.Capabilities())}
	var err error
	if trex := bed.Spec.Engine.Server(); trex != nil {
		err = addTRex(s, pod, a, trex)
	} else {
		err = addDevices(&pod.Spec, &pod.Spec.Containers[0], a.Ports)
		own(&pod.Spec.Containers[0].Resources, bed.Spec.Engine.OwnCPUs())
	}
	if err != nil {
		return nil, err
	}
	return pod, nil
}

// agentContainer holds the ports itself, with the engine xdp.
func agentContainer(s Settings, run Run, capabilities []corev1.Capability) corev1.Container {
	return corev1.Container{
		Name:            "agent",
		Image:           s.Image,
		ImagePullPolicy: s.PullPolicy,
		Args: []string{
			"agent", "--config", configDir + "/" + agentFile, "--tls", tlsDir, "--controller", run.RunnerHost(),
		},
		Ports: []corev1.ContainerPort{{Name: "grpc", ContainerPort: AgentPort}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: configDir, ReadOnly: true},
			{Name: "tls", MountPath: tlsDir, ReadOnly: true},
		},
		ReadinessProbe: listening(AgentPort),
		Resources:      sharing("100m", "128Mi", agentMemoryLimit),
		SecurityContext: &corev1.SecurityContext{
			RunAsUser:                ptr(int64(0)),
			RunAsNonRoot:             ptr(false),
			AllowPrivilegeEscalation: ptr(false),
			ReadOnlyRootFilesystem:   ptr(true),
			Capabilities: &corev1.Capabilities{
				Drop: []corev1.Capability{"ALL"},
				Add:  capabilities,
			},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// HostCapability is the further capability of an agent with hosts: it makes network namespaces.
const HostCapability corev1.Capability = "SYS_ADMIN"

// Capabilities returns what the engine xdp of the agent needs: NET_ADMIN to set addresses and
// attach XDP programs, NET_RAW for ARP and ND, BPF and PERFMON to load programs with tracing
// helpers and maps, SYS_NICE so that other threads on a busy node do not delay the sending ones,
// which would make trials generator-bound.
func (a Agent) Capabilities() []corev1.Capability {
	all := []corev1.Capability{"BPF", "NET_ADMIN", "NET_RAW", "PERFMON", "SYS_NICE"}
	if a.Hosts {
		all = append(all, HostCapability)
	}
	return all
}

// hostPorts describes the ports of an agent to its engine of applications.
func hostPorts(a Agent, ports []plan.Port, profile *v1alpha1.TrafficProfile) []workload.Port {
	all := plan.HostPorts(slices.DeleteFunc(slices.Clone(ports), func(p plan.Port) bool { return p.Node != a.Node }), profile)
	for i := range all {
		all[i].Interface = podInterface(a.Ports[i])
	}
	return all
}

// listening is a probe that succeeds once the container accepts connections. Clients
// authenticate by TLS, which the kubelet cannot do.
func listening(port int) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}},
		PeriodSeconds:    1,
		FailureThreshold: 3,
	}
}

// pod returns a pod with the fields that all pods of a run share.
func pod(s Settings, run Run, name, role string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.Namespace, Labels: run.labels(role),
			Annotations: map[string]string{AnnotationBenchmark: run.Namespace + "/" + run.Name},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken:  ptr(false),
			EnableServiceLinks:            ptr(false),
			TerminationGracePeriodSeconds: ptr(int64(10)),
			Tolerations:                   tolerations(),
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		},
	}
}

func ptr[T any](v T) *T { return &v }
