package result

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/method"
)

// Trusted reports whether a row may be judged and compared: it is a measurement
// of the device, or of a software device or a model that is known as such.
func Trusted(v v1alpha1.Validity) bool {
	return v == v1alpha1.ValidityValid || v == v1alpha1.ValidityVirtual || v == v1alpha1.ValiditySimulated
}

// Conclusive reports whether a row answers what its test asks of a device. On a bed
// without one the tester is measured: that it is the limit of a search is the answer.
func Conclusive(of v1alpha1.Device, row *v1alpha1.ResultRow) bool {
	return Trusted(row.Validity) ||
		device.Of(of).Absent && row.Validity == v1alpha1.ValidityGeneratorBound && method.IsSearched(row.Method) && row.Frames.OrZero().LineRatePPM > 0
}

// Graver reports whether a validity speaks more against a row than another one.
func Graver(a, b v1alpha1.Validity) bool {
	return slices.Index(inOrder, a) > slices.Index(inOrder, b)
}

// inOrder are all validities, the best first.
var inOrder = []v1alpha1.Validity{
	v1alpha1.ValidityValid, v1alpha1.ValidityVirtual, v1alpha1.ValiditySimulated, v1alpha1.ValidityUncalibrated,
	v1alpha1.ValidityContended, v1alpha1.ValidityGeneratorBound, v1alpha1.ValidityInvalid,
}
