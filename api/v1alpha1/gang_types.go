package v1alpha1

// Gang makes benchmarks of one namespace get their beds together, all or none: several
// devices are measured at the same time. Each of them is a benchmark with a bed and a result
// of its own.
type Gang struct {
	// name of the gang, the same in all of its members. It can be used again when they have
	// ended.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not the name of a gang: use lower-case letters, digits and dashes'"
	Name string `json:"name"`
	// role of this member, unique in the gang, such as left and right.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",messageExpression="'\"' + self + '\" is not a role: use lower-case letters, digits and dashes'"
	Role string `json:"role"`
	// members is the number of benchmarks in the gang, 2 to 16.
	// +required
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=16
	Members int32 `json:"members"`
}
