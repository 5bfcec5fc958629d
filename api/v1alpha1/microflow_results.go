package v1alpha1

// MaxBadMicroflows is the largest number of microflows that a row lists.
const MaxBadMicroflows = 100

// MicroflowsSummary contains how many microflows the device delivered in the trial that decided
// a row. A microflow is one combination of addresses and ports in the ranges of a stream (RFC
// 2475 section 1.2). One that many ports receive counts at each of them.
type MicroflowsSummary struct {
	// tracked is the number of microflows of which at least one frame was sent: the sum of
	// complete, lossy and silent.
	// +required
	Tracked int64 `json:"tracked"`
	// complete is the number of microflows of which every sent frame was received.
	// +required
	Complete int64 `json:"complete"`
	// lossy is the number of microflows of which some frames were lost, and some received.
	// +required
	Lossy int64 `json:"lossy"`
	// silent is the number of microflows of which no frame was received.
	// +required
	Silent int64 `json:"silent"`
	// unsent is the number of microflows of which no frame was sent, since the trial ended
	// before.
	// +required
	Unsent int64 `json:"unsent"`
	// leastReceived is the fewest frames that were received of a tracked microflow.
	// +required
	LeastReceived int64 `json:"leastReceived"`
	// mostReceived is the most frames that were received of a tracked microflow.
	// +required
	MostReceived int64 `json:"mostReceived"`
	// bad are the first lossy and silent microflows, in the order of the streams and of their
	// frames, at most 100 of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Bad []BadMicroflow `json:"bad,omitempty"`
}

// BadMicroflow is a microflow of which frames were lost.
type BadMicroflow struct {
	// sender is the port of the bed that sent it.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Sender string `json:"sender"`
	// receiver is the port of the bed that should have received it.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Receiver string `json:"receiver"`
	// source is the source address with the UDP port, such as 198.18.1.2:20001, or the
	// hardware address of a frame without a network layer.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Source string `json:"source"`
	// destination is the destination address, in the form of source.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Destination string `json:"destination"`
	// sent frames.
	// +required
	Sent int64 `json:"sent"`
	// received frames, without duplicates.
	// +required
	Received int64 `json:"received"`
}
