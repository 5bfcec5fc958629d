package labobjects

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic/agent"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// The TRex server of a traffic pod.
const (
	// trexDir is the directory of the server in the image of TRex, as Dockerfile.trex installs
	// it.
	trexDir = "/opt/trex"
	// trexRPCPort is the port at which the server answers, on loopback only; it publishes on
	// the port below. Neither is a port of the pod, and no NetworkPolicy opens them.
	trexRPCPort = 4501
	// trexEndpoint is the address at which agent and probes call the server.
	trexEndpoint = "tcp://127.0.0.1:4501"
	// programDir is the directory to which the init container copies nodrop, which starts the
	// server and probes it: the image of TRex is the lab's own and has no nodrop.
	programDir = "/run/nodrop"
	program    = programDir + "/nodrop"
	// hugePagesDir is the directory in which DPDK finds its huge pages.
	hugePagesDir = "/dev/hugepages"
	// temporaryDir is all that the server writes to: its configuration file, and DPDK's
	// run-time files.
	temporaryDir = "/tmp"
	// trexStorageLimit bounds program, temporary files and logs together.
	trexStorageLimit = "512Mi"
)

// TRexImage is the image of the TRex server for a bed with the engine trex: the bed's own, or
// the one that the operator was installed with. Without either it is an error that describes
// what to do.
func TRexImage(s Settings, e *v1alpha1.TRexEngine) (string, error) {
	if e.Image != "" {
		return e.Image, nil
	}
	if s.TRexImage == "" {
		return "", errors.New("the operator was installed without an image of TRex: set engine.trex.image or the chart's trexImage")
	}
	return s.TRexImage, nil
}

// trexConfigs are the configurations of the server and of its agent, whose ports are in
// the same order. The server has hosts in place of streams if hosts is true.
func trexConfigs(e *v1alpha1.TRexEngine, ports []v1alpha1.Port, hosts bool) (*agent.TRexConfig, server.Config) {
	cfg := server.Config{Dir: trexDir, RPCPort: trexRPCPort, ASTF: hosts}
	if e.Software != nil {
		cfg.Software = &server.Software{RingFrames: e.Software.Ring()}
	}
	if e.HugePages != nil {
		cfg.HugePagesMiB = int(e.HugePages.Total.Value() >> 20)
	}
	for _, p := range ports {
		port := server.Port{Name: p.Name}
		if a := p.Attachment; e.Software == nil && a != nil && a.SRIOV != nil {
			port.Resource = a.SRIOV.ResourceName
		} else {
			port.Interface = podInterface(p)
		}
		cfg.Ports = append(cfg.Ports, port)
	}
	return &agent.TRexConfig{Endpoint: trexEndpoint, TimedFramesPerSecond: e.TimedRate()}, cfg
}

// addTRex adds a TRex server to the agent's pod. The agent then needs no rights: it
// calls the server over loopback and serves the runner.
//
// A server with processors of its own makes the pod one of the class Guaranteed: only
// the server asks for whole processors, so that a kubelet with the CPU manager's policy
// static assigns them exclusively; the others share what is left. In software without
// cpus all share the processors of the node, without a limit. Alignment of processors, memory and cards on one NUMA
// node cannot be asked for in a pod: the kubelet's topology manager does it by the
// node's policy, for what one container asks for, and so the server's container asks
// for all of it.
//
// When the server is killed, its container restarts in the same sandbox, where the
// interfaces are; the agent keeps running and reports that the trial is void.
func addTRex(s Settings, pod *corev1.Pod, a Agent, e *v1alpha1.TRexEngine) error {
	image, err := TRexImage(s, e)
	if err != nil {
		return err
	}
	pod.Spec.SecurityContext.FSGroup = ptr(int64(user))
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		configVolume("trex-config", pod.Name, trexFile),
		scratchVolume("program", "256Mi"),
		scratchVolume("tmp", "256Mi"),
	)
	pod.Spec.InitContainers = []corev1.Container{installer(s, e)}
	pod.Spec.Containers = append(pod.Spec.Containers, trexContainer(s, image, e))
	driver, trex := &pod.Spec.Containers[0], &pod.Spec.Containers[1]
	_, cpu := e.CPURequests()
	driver.Resources = resources(e, cpu, resource.MustParse("512Mi"))
	driver.SecurityContext = unprivileged()
	if h := e.HugePages; h != nil {
		name := corev1.ResourceName(corev1.ResourceHugePagesPrefix + h.PageSize)
		trex.Resources.Requests[name], trex.Resources.Limits[name] = h.Total.DeepCopy(), h.Total.DeepCopy()
		medium := corev1.StorageMediumHugePagesPrefix + corev1.StorageMedium(h.PageSize)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "hugepages", VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium},
		}})
		trex.VolumeMounts = append(trex.VolumeMounts, corev1.VolumeMount{Name: "hugepages", MountPath: hugePagesDir})
	}
	return addDevices(&pod.Spec, trex, a.Ports)
}

// installer copies nodrop out of its own image, for the container of TRex.
func installer(s Settings, e *v1alpha1.TRexEngine) corev1.Container {
	_, cpu := e.CPURequests()
	return corev1.Container{
		Name:                     "install",
		Image:                    s.Image,
		ImagePullPolicy:          s.PullPolicy,
		Args:                     []string{"trex", "install", programDir},
		VolumeMounts:             []corev1.VolumeMount{{Name: "program", MountPath: programDir}},
		Resources:                resources(e, cpu, resource.MustParse("128Mi")),
		SecurityContext:          unprivileged(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func trexContainer(s Settings, image string, e *v1alpha1.TRexEngine) corev1.Container {
	cpu, _ := e.CPURequests()
	return corev1.Container{
		Name:            "trex",
		Image:           image,
		ImagePullPolicy: s.PullPolicy,
		Command:         []string{program, "trex", "serve", "--config", configDir + "/" + trexFile},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "trex-config", MountPath: configDir, ReadOnly: true},
			{Name: "program", MountPath: programDir, ReadOnly: true},
			{Name: "tmp", MountPath: temporaryDir},
		},
		// A server with fast cards and many huge pages may take its time to start. It gives
		// up by itself after 2 minutes, with its own message, before the probe fails.
		StartupProbe:             alive(2, 70),
		LivenessProbe:            alive(10, 3),
		Resources:                resources(e, cpu, e.MemoryBytes()),
		SecurityContext:          trexRights(e),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// TRexCapabilities returns the capabilities that the server needs: IPC_LOCK to pin memory that
// cards, or packet sockets, read from and write to; NET_ADMIN to set flags and addresses of
// interfaces; NET_RAW for packet sockets, and for cards whose driver stays the kernel's; and
// with DPDK's own drivers SYS_NICE, without which the default seccomp profile refuses to place
// memory on a NUMA node. DPDK learns physical addresses only with SYS_ADMIN, and needs none
// with an IOMMU: it is not granted.
func TRexCapabilities(software bool) []corev1.Capability {
	if software {
		return []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW"}
	}
	return []corev1.Capability{"IPC_LOCK", "NET_ADMIN", "NET_RAW", "SYS_NICE"}
}

func trexRights(e *v1alpha1.TRexEngine) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser:                ptr(int64(0)),
		RunAsNonRoot:             ptr(false),
		Privileged:               ptr(false),
		AllowPrivilegeEscalation: ptr(false),
		ReadOnlyRootFilesystem:   ptr(true),
		Capabilities: &corev1.Capabilities{
			Drop: []corev1.Capability{"ALL"},
			Add:  TRexCapabilities(e.Software != nil),
		},
	}
}

// unprivileged is for containers that need no rights, in pods where another one does.
func unprivileged() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		RunAsUser:                ptr(int64(user)),
		RunAsGroup:               ptr(int64(user)),
		RunAsNonRoot:             ptr(true),
		AllowPrivilegeEscalation: ptr(false),
		ReadOnlyRootFilesystem:   ptr(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// alive is a probe that calls the server's RPC on loopback from within the container.
func alive(period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
			Command: []string{program, "trex", "alive", "--endpoint", trexEndpoint},
		}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		FailureThreshold: failures,
	}
}

// resources requests as much as it allows, which every container of a pod has to, for
// the pod to be of the class Guaranteed. Where the server shares processors nothing
// limits them.
func resources(e *v1alpha1.TRexEngine, cpu, memory resource.Quantity) corev1.ResourceRequirements {
	requests := corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
	limits := requests.DeepCopy()
	requests[corev1.ResourceEphemeralStorage] = resource.MustParse("0")
	limits[corev1.ResourceEphemeralStorage] = resource.MustParse(trexStorageLimit)
	if e.Processors() == 0 {
		delete(limits, corev1.ResourceCPU)
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

func scratchVolume(name, limit string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr(resource.MustParse(limit))},
	}}
}
