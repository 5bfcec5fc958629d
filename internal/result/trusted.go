package result

import "nodrop.dev/nodrop/api/v1alpha1"

// Trusted reports whether a row may be judged and compared: it is a measurement
// of the device, or of a software device or a model that is known as such.
func Trusted(v v1alpha1.Validity) bool {
	return v == v1alpha1.ValidityValid || v == v1alpha1.ValidityVirtual || v == v1alpha1.ValiditySimulated
}
