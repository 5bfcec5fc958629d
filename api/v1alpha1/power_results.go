package v1alpha1

// PowerReading is the power of the device during a time.
type PowerReading struct {
	// meanMilliwatts is the mean of the readings.
	// +required
	MeanMilliwatts int64 `json:"meanMilliwatts"`
	// minimumMilliwatts is the lowest reading.
	// +required
	MinimumMilliwatts int64 `json:"minimumMilliwatts"`
	// maximumMilliwatts is the highest reading.
	// +required
	MaximumMilliwatts int64 `json:"maximumMilliwatts"`
	// readings is their number.
	// +required
	Readings int32 `json:"readings"`
	// accuracyMilliwatts is by how much the mean may be too low or too high, by the data sheet of the
	// meter.
	// +required
	AccuracyMilliwatts int64 `json:"accuracyMilliwatts"`
	// scatterMilliwatts is by how much the mean may be too low or too high because the readings differ,
	// with a confidence of 95 % (Student's t distribution); absent with one reading.
	// +optional
	ScatterMilliwatts int64 `json:"scatterMilliwatts,omitempty"`
}

// RowPower contains the power of the device in the trial that decided a row.
type RowPower struct {
	// trial is the power in the trial, after the meter has settled; absent if the meter was not read.
	// +optional
	Trial *PowerReading `json:"trial,omitempty"`
	// idle is the power before the first row, without test frames; absent if the meter was not read.
	// +optional
	Idle *PowerReading `json:"idle,omitempty"`
	// bitsPerSecond is the number of bits that the device forwarded in each second of the trial: at layer
	// 2, with FCS, at all receivers together.
	// +optional
	BitsPerSecond int64 `json:"bitsPerSecond,omitempty"`
	// picojoulesPerBit is the power above idle for each forwarded bit; absent where nothing was
	// forwarded, or one of the powers is absent.
	// +optional
	PicojoulesPerBit *int64 `json:"picojoulesPerBit,omitempty"`
	// picojoulesPerBitAccuracy is by how much picojoulesPerBit may be too low or too high by the accuracy of
	// the meter and the scatter of its readings.
	// +optional
	PicojoulesPerBitAccuracy int64 `json:"picojoulesPerBitAccuracy,omitempty"`
	// fit is the line through the powers of this row, the rows before it of the same test, variant and
	// frame size, and idle; absent with fewer than two rows of different loads.
	// +optional
	Fit *PowerFit `json:"fit,omitempty"`
	// message explains what is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// PowerFit is a line by least squares: power = base + energy of a bit x forwarded bits per second.
type PowerFit struct {
	// rows of the fit, without idle.
	// +required
	Rows int32 `json:"rows"`
	// baseMilliwatts is the power at no load.
	// +required
	BaseMilliwatts int64 `json:"baseMilliwatts"`
	// picojoulesPerBit is the energy that each forwarded bit adds.
	// +required
	PicojoulesPerBit int64 `json:"picojoulesPerBit"`
	// picojoulesPerBitAccuracy is by how much picojoulesPerBit may be too low or too high by the accuracy of the
	// meter and the scatter of its readings.
	// +required
	PicojoulesPerBitAccuracy int64 `json:"picojoulesPerBitAccuracy"`
	// largestResidualMilliwatts is the largest distance of a power from the line. One above the accuracy of
	// the meter shows that the power does not follow the load by a line.
	// +required
	LargestResidualMilliwatts int64 `json:"largestResidualMilliwatts"`
}
