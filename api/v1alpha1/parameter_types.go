package v1alpha1

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
	Default         ParameterValue `json:"default"`
	ParameterBounds `json:",inline"`
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

// ParameterBounds are the values that a parameter may have: one of a list, or a whole number of a range.
type ParameterBounds struct {
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

// Allow reports whether a parameter may have a value. A number has no sign and no zeros in front, since devices read
// such numbers in different ways.
func (b *ParameterBounds) Allow(value ParameterValue) bool {
	if b.Range == nil {
		return slices.Contains(b.Values, value)
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == string(value) && n >= b.Range.Minimum && n <= b.Range.Maximum
}

// String lists the values for people.
func (b *ParameterBounds) String() string {
	if b.Range != nil {
		return fmt.Sprintf("a whole number from %d to %d", b.Range.Minimum, b.Range.Maximum)
	}
	all := make([]string, len(b.Values))
	for i, v := range b.Values {
		all[i] = string(v)
	}
	return "one of " + strings.Join(all, ", ")
}

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
	Name            ParameterName `json:"name"`
	ParameterBounds `json:",inline"`
}

// ParametersOf returns the parameters of a variant's configuration.
func (d *Device) ParametersOf(variant VariantName) []DeviceParameter {
	for i := range d.Variants {
		if v := &d.Variants[i]; v.Name == variant {
			parameters, _ := v.Parameters()
			return parameters
		}
	}
	return nil
}
