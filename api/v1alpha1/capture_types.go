package v1alpha1

// Capture selects the received frames of a trial that are kept in a file next to the result.
// For each receiving port it keeps up to frames of each kind: the first received frames, the
// damaged frames, the last frames of a stream before a gap, and the first frames after a gap.
type Capture struct {
	// frames of each kind that each port keeps of a trial.
	// +optional
	// +kubebuilder:default=32
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Frames int32 `json:"frames,omitempty"`
	// bytesPerFrame are kept, the first ones of each frame.
	// +optional
	// +kubebuilder:default=256
	// +kubebuilder:validation:Minimum=64
	// +kubebuilder:validation:Maximum=2048
	BytesPerFrame int32 `json:"bytesPerFrame,omitempty"`
}

// CaptureFile is a PCAPNG file with frames of the trials that a row rests on: the one that
// decided it, and of a search also the one that ended it.
type CaptureFile struct {
	// file is its path from the directory of the result.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	File string `json:"file"`
	// sha256 of the file, in lower-case hexadecimal.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern="^[0-9a-f]{64}$"
	SHA256 string `json:"sha256"`
	// frames in it.
	// +required
	Frames int64 `json:"frames"`
}
