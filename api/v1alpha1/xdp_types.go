package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// XDPEngine holds the settings of the engine xdp.
type XDPEngine struct {
	// cpus is how many processors each traffic pod has for itself, 1 to 256. Each sends
	// on some of the ports. Without it the pod shares the processors of the node with
	// others. The kubelet of the node needs the CPU manager policy static.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	CPUs *int32 `json:"cpus,omitempty"`
}

// OwnCPUs is what each traffic pod of the engine xdp requests, and is limited to, of a
// node's processors, which are its own then; zero where it shares them, and with other
// engines.
func (e *Engine) OwnCPUs() resource.Quantity {
	if e.Kind != EngineXDP || e.XDP == nil || e.XDP.CPUs == nil {
		return resource.Quantity{}
	}
	return *resource.NewQuantity(int64(*e.XDP.CPUs), resource.DecimalSI)
}
