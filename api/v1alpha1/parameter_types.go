package v1alpha1

// DeviceParameter is a part of a variant's configuration that a benchmark chooses. Where the text of the
// configuration has the name in double braces, such as {{vlan}}, the device gets the value.
//
// +kubebuilder:validation:ExactlyOneOf=values;range
type DeviceParameter struct {
	// name of the parameter, unique in its variant.
	// +required
	Name ParameterName `json:"name"`
	// default is the value without a choice of the benchmark.
	// +required
	Default ParameterValue `json:"default"`
	// values are all that a benchmark may choose.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Values []ParameterValue `json:"values,omitempty"`
	// range has the whole numbers that a benchmark may choose.
	// +optional
	Range *ParameterRange `json:"range,omitempty"`
}

// ParameterName is the name of a parameter.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a parameter: use lower-case letters, digits and dashes, and begin with a letter'"
type ParameterName string

// ParameterValue is a value of a parameter: one word, which cannot begin another line of a configuration, a quotation or
// a comment.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9._:/]*[A-Za-z0-9])?$')",messageExpression="'\"' + self + '\" is not a value of a parameter: use letters and digits, and between them also dots, colons, slashes, dashes and underscores'"
type ParameterValue string

// ParameterRange is a range of whole numbers.
//
// +kubebuilder:validation:XValidation:rule="self.minimum <= self.maximum",messageExpression="'the minimum %d is above the maximum %d'.format([self.minimum, self.maximum])"
type ParameterRange struct {
	// minimum is the lowest number, 0 to 4294967295.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Minimum int64 `json:"minimum"`
	// maximum is the highest number, 0 to 4294967295.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4294967295
	Maximum int64 `json:"maximum"`
}

// ChosenParameter is the value of a parameter that a benchmark chooses.
type ChosenParameter struct {
	// name of a parameter that a variant of the benchmark has.
	// +required
	Name ParameterName `json:"name"`
	// value of the parameter, in all variants that have it.
	// +required
	Value ParameterValue `json:"value"`
}

// ParameterGrant bounds the value of a parameter.
//
// +kubebuilder:validation:ExactlyOneOf=values;range
type ParameterGrant struct {
	// name of the parameter.
	// +required
	Name ParameterName `json:"name"`
	// values that a benchmark may choose.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Values []ParameterValue `json:"values,omitempty"`
	// range has the whole numbers that a benchmark may choose.
	// +optional
	Range *ParameterRange `json:"range,omitempty"`
}

// ParametersOf returns the parameters of a variant's configuration.
func (d *Device) ParametersOf(variant VariantName) []DeviceParameter {
	for i := range d.Variants {
		if v := &d.Variants[i]; v.Name == variant && v.Physical != nil {
			return v.Physical.Parameters
		}
	}
	return nil
}
