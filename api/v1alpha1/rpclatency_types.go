package v1alpha1

// RPCLatencyTest measures how long requests and responses take between a client and a server, over one TCP connection
// that stays open, and the share of the device in that time. Requests follow each other. Each message size makes a row
// without background, and one for each load of background.
type RPCLatencyTest struct {
	// messageSizes are the numbers of bytes of a request, and of its response.
	// +optional
	// +listType=set
	// +kubebuilder:default={1,64,256,1024,4096,16384}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1048576
	MessageSizes []int32 `json:"messageSizes,omitempty"`
	// requests is the number of requests of a row.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=100000
	Requests int32 `json:"requests,omitempty"`
	// warmUpRequests is the number of requests before them that do not count.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	WarmUpRequests int32 `json:"warmUpRequests,omitempty"`
	// mtu of the hosts in bytes.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=9198
	MTU int32 `json:"mtu,omitempty"`
	// congestionControl is the name of the congestion control of TCP, as the kernel of the hosts has it: reno,
	// cubic, bbr. Absent means the default of that kernel. The row has the name that was in force.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z][a-z0-9_]*$')",messageExpression="'\"' + self + '\" is not a congestion control: use its name in the kernel, such as reno, cubic or bbr'"
	CongestionControl string `json:"congestionControl,omitempty"`
	// client is the name of the port of the client. Absent means the first port of the bed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Client string `json:"client,omitempty"`
	// server is the name of the port of the server. Absent means the first port that is not the one of the client.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	Server string `json:"server,omitempty"`
	// background are loads of test frames that the streams of the profile have meanwhile, as shares of line rate. The rows
	// without background are measured as well.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Background []LoadAmount `json:"background,omitempty"`
	// backgroundFrameSize is the size of the frames of the background in bytes, with FCS.
	// +optional
	// +kubebuilder:default=1518
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=9216
	BackgroundFrameSize int32 `json:"backgroundFrameSize,omitempty"`
}

// RPCLatencySummary is the result of requests of one size.
type RPCLatencySummary struct {
	// congestionControl that was in force at both hosts.
	// +required
	// +kubebuilder:validation:MaxLength=15
	CongestionControl string `json:"congestionControl"`
	// mtu of the hosts in bytes.
	// +required
	MTU int32 `json:"mtu"`
	// requests that were answered and count.
	// +required
	Requests int64 `json:"requests"`
	// roundTrip is the distribution of the times from the first byte of a request to the last byte of its response,
	// through the device, at the client.
	// +required
	RoundTrip RoundTripTimes `json:"roundTrip"`
	// backToBack is the same between two hosts on a direct link, without the device. Absent where no such link was measured.
	// +optional
	BackToBack *RoundTripTimes `json:"backToBack,omitempty"`
	// device is the share of the device: the median of roundTrip less the median of backToBack. Absent without
	// backToBack.
	// +optional
	Device *TimeEstimate `json:"device,omitempty"`
	// background are the test frames that the device forwarded meanwhile. Absent without background.
	// +optional
	Background *BackgroundFrames `json:"background,omitempty"`
	// retransmissions is the number of segments that both hosts sent again through the device.
	// +required
	Retransmissions int64 `json:"retransmissions"`
	// busyPPM is the share of the time of all processors of the machine of the hosts that was used, in parts per
	// million.
	// +optional
	BusyPPM int64 `json:"busyPPM,omitempty"`
}

// RoundTripTimes is a distribution of round-trip times in nanoseconds. A percentile is the smallest time that is not
// below so many percent of all.
type RoundTripTimes struct {
	// avgNs is the mean.
	// +required
	AvgNs int64 `json:"avgNs"`
	// p50Ns is the median.
	// +required
	P50Ns int64 `json:"p50Ns"`
	// p50LowNs and p50HighNs bound the median with a confidence of 95 %.
	// +required
	P50LowNs int64 `json:"p50LowNs"`
	// p50HighNs is described at p50LowNs.
	// +required
	P50HighNs int64 `json:"p50HighNs"`
	// p90Ns is the 90th percentile.
	// +required
	P90Ns int64 `json:"p90Ns"`
	// p99Ns is the 99th percentile.
	// +required
	P99Ns int64 `json:"p99Ns"`
	// p999Ns is the 99.9th percentile.
	// +required
	P999Ns int64 `json:"p999Ns"`
	// maxNs is the maximum.
	// +required
	MaxNs int64 `json:"maxNs"`
}

// TimeEstimate is a time in nanoseconds with an interval that contains it with a confidence of 95 %.
type TimeEstimate struct {
	// ns is the time.
	// +required
	Ns int64 `json:"ns"`
	// lowNs and highNs bound it.
	// +required
	LowNs int64 `json:"lowNs"`
	// highNs is described at lowNs.
	// +required
	HighNs int64 `json:"highNs"`
}

// BackgroundFrames are test frames that ran next to hosts.
type BackgroundFrames struct {
	// loadPPM is the intended load in parts per million of line rate.
	// +required
	LoadPPM int64 `json:"loadPPM"`
	// frameSize in bytes, with FCS.
	// +required
	FrameSize int32 `json:"frameSize"`
	// offeredFramesPerSecond is the rate at which frames left the tester.
	// +required
	OfferedFramesPerSecond int64 `json:"offeredFramesPerSecond"`
	// sent is the number of frames that were sent, and expected the number that the receivers should get.
	// +required
	Sent int64 `json:"sent"`
	// expected is described at sent.
	// +required
	Expected int64 `json:"expected"`
	// lost is the number of frames that did not arrive, and lossPPM their share of the expected ones in parts per
	// million.
	// +required
	Lost int64 `json:"lost"`
	// lossPPM is described at lost.
	// +required
	LossPPM int64 `json:"lossPPM"`
}
