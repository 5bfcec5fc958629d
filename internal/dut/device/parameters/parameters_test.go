package parameters

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// filter is a device with a variant that has two parameters, and one that has none.
func filter() *v1alpha1.Device {
	return &v1alpha1.Device{Variants: []v1alpha1.DeviceVariant{
		{Name: "plain"},
		{Name: "filter", Physical: &v1alpha1.PhysicalVariant{Parameters: []v1alpha1.DeviceParameter{
			{Name: "entries", Default: "201", ParameterBounds: v1alpha1.ParameterBounds{Range: &v1alpha1.ParameterRange{Minimum: 1, Maximum: 400}}},
			{Name: "action", Default: "deny", ParameterBounds: v1alpha1.ParameterBounds{Values: []v1alpha1.ParameterValue{"deny", "permit"}}},
		}}},
	}}
}

func choose(pairs ...string) []v1alpha1.ChosenParameter {
	var all []v1alpha1.ChosenParameter
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, v1alpha1.ChosenParameter{Name: v1alpha1.ParameterName(pairs[i]), Value: v1alpha1.ParameterValue(pairs[i+1])})
	}
	return all
}

const text = "limit {{entries}}\nlast {{ entries }} {{action}}\n"

func TestFill(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		variant v1alpha1.VariantName
		chosen  []v1alpha1.ChosenParameter
		// want is the configuration, and err a part of the error in place of it.
		want, err string
	}{
		"defaults":               {text, "filter", nil, "limit 201\nlast 201 deny\n", ""},
		"a choice":               {text, "filter", choose("entries", "7"), "limit 7\nlast 7 deny\n", ""},
		"all choices":            {text, "filter", choose("action", "permit", "entries", "400"), "limit 400\nlast 400 permit\n", ""},
		"of another variant":     {"{{anything}} {{", "plain", choose("entries", "7"), "{{anything}} {{", ""},
		"the base":               {"{{anything}} {{", "", choose("entries", "7"), "{{anything}} {{", ""},
		"below the range":        {text, "filter", choose("entries", "0"), "", `parameter entries is "0", and variant filter allows a whole number from 1 to 400`},
		"above the range":        {text, "filter", choose("entries", "401"), "", `"401"`},
		"zeros in front":         {text, "filter", choose("entries", "007"), "", `"007"`},
		"a sign":                 {text, "filter", choose("entries", "+7"), "", `"+7"`},
		"a number too long":      {text, "filter", choose("entries", "99999999999999999999"), "", `"99999999999999999999"`},
		"another line":           {text, "filter", choose("entries", "7\nno limit"), "", "whole number"},
		"not listed":             {text, "filter", choose("action", "Deny"), "", "one of deny, permit"},
		"a place without a name": {text + "{{}}", "filter", nil, "", "has {{}}, and the variant has no such parameter"},
		"an unknown parameter":   {text + "{{vlan}}", "filter", nil, "", "has {{vlan}}, and the variant has no such parameter"},
		"an unused parameter":    {"limit {{entries}}\n", "filter", nil, "", "has no {{action}}"},
		"an open place":          {text + "{{entries\n", "filter", nil, "", "has {{ without a name and }}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fill(tc.text, filter(), tc.variant, tc.chosen)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) || got != tc.want {
				t.Errorf("Fill = %q, %v; want %q, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		variants []v1alpha1.VariantName
		chosen   []v1alpha1.ChosenParameter
		want     string
	}{
		"nothing":                      {nil, nil, ""},
		"within":                       {[]v1alpha1.VariantName{"plain", "filter"}, choose("entries", "400", "action", "permit"), ""},
		"beyond":                       {[]v1alpha1.VariantName{"filter"}, choose("entries", "401"), `spec.deviceParameters[0].value: Invalid value: "401": parameter entries of variant filter of test bed leaf is a whole number from 1 to 400: give such a value, or ask the bed's owner to allow this one`},
		"unknown":                      {[]v1alpha1.VariantName{"filter"}, choose("entries", "1", "vlan", "2"), `spec.deviceParameters[1].name: Invalid value: "vlan": the variants of the benchmark have the parameters entries (filter), action (filter) on test bed leaf: leave it out, or name a variant that has it`},
		"of a variant that is not run": {[]v1alpha1.VariantName{"plain"}, choose("entries", "1"), `spec.deviceParameters[0].name: Invalid value: "entries": the variants of the benchmark have no parameters on test bed leaf: leave it out, or name a variant that has it`},
		"without variants":             {nil, choose("entries", "1"), `spec.deviceParameters[0].name: Invalid value: "entries": the variants of the benchmark have no parameters on test bed leaf: leave it out, or name a variant that has it`},
	} {
		t.Run(name, func(t *testing.T) {
			bed := &v1alpha1.TestBed{}
			bed.Name, bed.Spec.Device = "leaf", *filter()
			b := &v1alpha1.Benchmark{}
			b.Spec.Variants, b.Spec.DeviceParameters = tc.variants, tc.chosen
			got := ""
			if problems := Validate(b, bed); problems != nil {
				got = problems.ToAggregate().Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestValidateBed(t *testing.T) {
	bed := &v1alpha1.TestBed{}
	bed.Spec.Device = *filter()
	if problems := ValidateBed(bed); problems != nil {
		t.Fatal(problems)
	}
	bed.Spec.Device.Variants[1].Physical.Parameters[0].Default = "0"
	const want = `spec.device.variants[1].physical.parameters[0].default: Invalid value: "0": give a whole number from 1 to 400, or allow this value`
	if problems := ValidateBed(bed); len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("%v, want %s", problems, want)
	}
}

// The parameters of a variant of containerlab work as the ones of a physical device.
func TestParametersOfNodes(t *testing.T) {
	node := filter()
	v := &node.Variants[1]
	v.Containerlab = &v1alpha1.ContainerlabVariant{Configuration: &v1alpha1.DeviceConfigurationSource{}, Parameters: v.Physical.Parameters}
	v.Physical = nil
	if got, err := Fill(text, node, "filter", choose("entries", "7")); err != nil || got != "limit 7\nlast 7 deny\n" {
		t.Errorf("%q, %v", got, err)
	}
	bed := &v1alpha1.TestBed{}
	bed.Spec.Device = *node
	v.Containerlab.Parameters[0].Default = "0"
	const want = `spec.device.variants[1].containerlab.parameters[0].default: Invalid value: "0"`
	if problems := ValidateBed(bed); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
		t.Errorf("%v, want %s", problems, want)
	}
}

func TestDescribe(t *testing.T) {
	if got := Describe(Values(filter(), "filter", choose("action", "permit"))); got != " with entries 201, action permit" {
		t.Error(got)
	}
	if got := Describe(Values(filter(), "plain", nil)); got != "" {
		t.Error(got)
	}
}
