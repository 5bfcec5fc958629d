package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HookSecretType is the type of a Secret that a hook of a bed gets. A Secret of another type is not mounted.
const HookSecretType = "nodrop.dev/hook" //nolint:gosec // a type, not a secret

// LeaseHooks are programs of the lab that run before and after each lease of a bed, such as to load an
// image onto the device, to clean it up or to check it. Each is a pod in the lab's namespace without rights.
// Benchmarks can neither choose nor skip them.
//
// +kubebuilder:validation:XValidation:rule="has(self.beforeLease) || has(self.afterLease)",message="hooks is empty: give beforeLease, afterLease or both, or remove hooks"
type LeaseHooks struct {
	// beforeLease run one after the other when a benchmark has got the bed, before the device is
	// started or configured. If one fails, the benchmark ends with Error, and the bed is quarantined.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	BeforeLease []LeaseHook `json:"beforeLease,omitempty"`
	// afterLease run one after the other when the benchmark has ended in whatever way, after the
	// device was stopped or its base configuration was restored, and before another benchmark gets the bed.
	// If one fails, the bed is quarantined; the result of the benchmark stays.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	AfterLease []LeaseHook `json:"afterLease,omitempty"`
}

// LeaseHook is one program. It ends with exit code 0 if it succeeded. It has to be safe to run again: when its
// pod, its node or the operator is lost, it begins anew. It gets NODROP_BED, NODROP_BENCHMARK_NAMESPACE, NODROP_BENCHMARK,
// NODROP_VARIANTS (with commas between them), NODROP_DEVICE_ADDRESS (the address of device.physical.management),
// NODROP_STAGE (beforeLease or afterLease) and NODROP_HOOK in its environment; what the bed does not have is empty.
type LeaseHook struct {
	// name of the hook, in messages.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a name of a hook: use lower-case letters, digits and dashes, such as load-image'"
	Name string `json:"name"`
	// image of the container.
	// +required
	Image DeviceImage `json:"image"`
	// command replaces the entry point of the image. $(NAME) is replaced by the variable NAME.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command,omitempty"`
	// args are the arguments of the command. $(NAME) is replaced by the variable NAME.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
	// env are further variables of the environment. Everyone who may read beds can read them: put
	// passwords into the Secret.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Env []HookVariable `json:"env,omitempty"`
	// secretName names a Secret in the lab's namespace, of type nodrop.dev/hook, whose keys are files in
	// /etc/nodrop/hook.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// timeout is the time that the hook may take, with pulling its image: 1s to 1h. The default is 5m.
	// +optional
	// +default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,9}([.][0-9]{1,9})?([numµμ]?s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",messageExpression="'timeout is ' + self + ': give 1s to 1h, a number with one of the units ns, us, ms, s, m and h'"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// memory is the limit of the container, with the files that it writes to memory: 16Mi to 16Gi. The default is 256Mi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// HookVariable is a variable of the environment of a hook.
type HookVariable struct {
	// name of the variable. Names that begin with NODROP_ are set by NoDrop.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z_][A-Za-z0-9_]*$') && !self.startsWith('NODROP_')",messageExpression="'\"' + self + '\" is not a name of a variable of the lab: use letters, digits and underscores, and do not begin with a digit or with NODROP_, such as IMAGE_URL'"
	Name string `json:"name"`
	// value of the variable. $(NAME) is replaced by the variable NAME.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value,omitempty"`
}

// DefaultHookTimeout is the time that a hook may take that does not set it.
const DefaultHookTimeout = 5 * time.Minute

// Within returns the time that the hook may take, with the default.
func (h *LeaseHook) Within() time.Duration {
	if h.Timeout == nil {
		return DefaultHookTimeout
	}
	return h.Timeout.Duration
}

// TimeAfterLease returns the time that all hooks after a lease may take together; 0 without any.
func (h *LeaseHooks) TimeAfterLease() time.Duration {
	if h == nil {
		return 0
	}
	return HooksWithin(h.AfterLease)
}

// HooksWithin returns the time that hooks may take, one after the other.
func HooksWithin(hooks []LeaseHook) time.Duration {
	var sum time.Duration
	for i := range hooks {
		sum += hooks[i].Within()
	}
	return sum
}
