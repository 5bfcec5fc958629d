package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// XDPEngine holds the settings of the engine xdp.
//
// +kubebuilder:validation:XValidation:rule="!has(self.cpus) || !has(self.sendersPerPort) || self.sendersPerPort <= self.cpus",message="sendersPerPort is above cpus, the number of CPUs of a traffic pod: each sender of a port has a CPU of its own, so raise cpus or lower sendersPerPort",fieldPath=".sendersPerPort"
type XDPEngine struct {
	// cpus is the number of processors that each traffic pod has for itself, 1 to 256. Each
	// sends on some of the ports. Without it the pod shares the processors of the node with
	// others. The kubelet of the node needs the CPU manager policy static.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	CPUs *int32 `json:"cpus,omitempty"`
	// transmit is the transmit path of all ports. LiveFrames are written in the kernel,
	// AFXDP writes them in user space and sends them through AF_XDP sockets, with zero copy
	// where the driver has it, and PacketSocket sends them through packet sockets. A path
	// that a port cannot use is an error. Without it a port sends live frames where it can,
	// and through a packet socket elsewhere.
	// +optional
	Transmit XDPTransmit `json:"transmit,omitempty"`
	// sendersPerPort is the number of CPUs that send on each port at the same time, 1 to
	// 16. Each sends some of the port's streams, in a transmit queue of its own where the
	// driver has one per CPU. Use it where one CPU does not reach the rate of the port, with
	// at least as many streams per port, such as by hostsPerPort of the profile. A port has
	// fewer senders, with a note in the result, where it has fewer streams, or the tester
	// may use fewer CPUs. 1 without it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	SendersPerPort *int32 `json:"sendersPerPort,omitempty"`
}

// XDPTransmit names a transmit path of the engine xdp.
//
// +kubebuilder:validation:Enum=LiveFrames;AFXDP;PacketSocket
type XDPTransmit string

const (
	// XDPLiveFrames are written in the kernel and sent by the driver.
	XDPLiveFrames XDPTransmit = "LiveFrames"
	// XDPSockets are AF_XDP sockets.
	XDPSockets XDPTransmit = "AFXDP"
	// XDPPacketSocket is a packet socket per port.
	XDPPacketSocket XDPTransmit = "PacketSocket"
)

// TransmitPath returns the transmit path that the engine xdp is forced to use, or an empty
// one.
func (e *Engine) TransmitPath() XDPTransmit {
	if e.Kind != EngineXDP || e.XDP == nil {
		return ""
	}
	return e.XDP.Transmit
}

// SendersPerPort returns the number of senders of each port of the engine xdp, at least 1.
func (e *Engine) SendersPerPort() int {
	if e.Kind != EngineXDP || e.XDP == nil || e.XDP.SendersPerPort == nil {
		return 1
	}
	return int(*e.XDP.SendersPerPort)
}

// OwnCPUs returns the number of processors that each traffic pod of the engine xdp requests,
// which is also its limit, so that it has them for itself. It is zero if the pod shares the
// processors of the node, and with other engines.
func (e *Engine) OwnCPUs() resource.Quantity {
	if e.Kind != EngineXDP || e.XDP == nil || e.XDP.CPUs == nil {
		return resource.Quantity{}
	}
	return *resource.NewQuantity(int64(*e.XDP.CPUs), resource.DecimalSI)
}
