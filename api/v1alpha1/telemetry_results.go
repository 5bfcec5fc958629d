package v1alpha1

// DeviceReadings contains what a device reported of itself while a row was measured.
type DeviceReadings struct {
	// counters of the device for dropped and damaged frames that grew from the beginning of
	// the row to its end, the largest first, at most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Counters []DeviceCounter `json:"counters,omitempty"`
	// counted is the sum of all counters that grew, in frames.
	// +optional
	Counted int64 `json:"counted"`
	// lost is the number of frames that were lost in all trials of the row.
	// +optional
	Lost int64 `json:"lost"`
	// unexplained is the number of lost frames that no counter of the device explains; absent where its
	// counters could not be read.
	// +optional
	Unexplained *int64 `json:"unexplained,omitempty"`
	// sensors of the device, at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Sensors []DeviceSensor `json:"sensors,omitempty"`
	// readings is the number of times that the device was read.
	// +optional
	Readings int32 `json:"readings"`
	// failed is the number of readings that the device did not answer.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// message explains counters that are absent, or larger than the loss.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// DeviceCounter is a counter of a device that grew.
type DeviceCounter struct {
	// name of the counter: "input discards of Ethernet1/3".
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// frames by which it grew.
	// +required
	Frames int64 `json:"frames"`
}

// DeviceSensor is a sensor of a device while a row was measured.
type DeviceSensor struct {
	// name of the sensor: "processor 1".
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// unit of the figures: "%", "°C", "W".
	// +required
	// +kubebuilder:validation:MaxLength=16
	Unit string `json:"unit"`
	// meanThousandths is the mean of the readings, in thousandths of the unit.
	// +required
	MeanThousandths int64 `json:"meanThousandths"`
	// maximumThousandths is the highest reading, in thousandths of the unit.
	// +required
	MaximumThousandths int64 `json:"maximumThousandths"`
}

// DeviceFacts describe a device in its own words.
type DeviceFacts struct {
	// description is the text that the device has for people.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Description string `json:"description,omitempty"`
	// model of the device.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Model string `json:"model,omitempty"`
	// software is its name and version.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Software string `json:"software,omitempty"`
	// serialNumber of the device.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SerialNumber string `json:"serialNumber,omitempty"`
	// modules are parts that can be exchanged, such as transceivers, at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Modules []string `json:"modules,omitempty"`
	// upSeconds is the time since the device, or its agent, started, in seconds.
	// +optional
	UpSeconds int64 `json:"upSeconds,omitempty"`
	// bootReason is why it started.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	BootReason string `json:"bootReason,omitempty"`
}
