package labobjects

import corev1 "k8s.io/api/core/v1"

// Settings are the installation settings of the operator, equal for all runs.
type Settings struct {
	// Namespace of the lab.
	Namespace string
	// Image of agents and runners.
	Image string
	// DeviceImage starts virtual devices; it contains containerlab and nodrop.
	DeviceImage string
	// TRexImage is the TRex server, for beds with the engine trex that name no image of
	// their own; empty where the lab has none.
	TRexImage string
	// PullPolicy of all images.
	PullPolicy corev1.PullPolicy
}

// Ports that pods listen on.
const (
	// AgentPort is the port at which an agent serves gRPC.
	AgentPort = 7443
	// RunnerPort is the port at which a runner serves its state over HTTPS.
	RunnerPort = 7444
)

// Paths inside the pods.
const (
	configDir     = "/etc/nodrop/config"
	tlsDir        = "/etc/nodrop/tls"
	topologyDir   = "/etc/nodrop/topology"
	checkpointDir = "/var/lib/nodrop"
)

// User that pods without a need for root run as: "nonroot" of distroless images.
const user = 65532

// tolerations let the lab keep its nodes free of other work by a taint with the
// key nodrop.dev/lab.
func tolerations() []corev1.Toleration {
	return []corev1.Toleration{{Key: "nodrop.dev/lab", Operator: corev1.TolerationOpExists}}
}

// onNode makes the scheduler choose one node, by its name rather than by its
// host-name label, which may differ. The scheduler is not bypassed, so that a
// node that does not exist is explained in the pod's conditions.
func onNode(node string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node},
				}},
			}},
		},
	}}
}
