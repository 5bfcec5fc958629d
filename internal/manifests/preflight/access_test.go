package preflight

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// asking sets priority and deadline of the benchmark.
func asking(priority int32, lease time.Duration) func(*Input) {
	return func(in *Input) {
		in.Benchmark.Spec.Priority, in.Benchmark.Spec.ActiveDeadlineSeconds = priority, int64(lease/time.Second)
	}
}

// granting replaces the grants of an input's bed.
func granting(bed int, grants ...v1alpha1.AccessGrant) func(*Input) {
	return func(in *Input) { in.Beds[bed].Spec.Access = grants }
}

func upTo(priority int32, lease time.Duration) v1alpha1.AccessGrant {
	return grant(func(g *v1alpha1.AccessGrant) {
		g.MaxPriority, g.MaxDuration = priority, metav1.Duration{Duration: lease}
	})
}

func running(most int32, g v1alpha1.AccessGrant) v1alpha1.AccessGrant {
	g.MaxRunning = most
	return g
}

// choosing lets the benchmark choose variants, which all beds have.
func choosing(names ...v1alpha1.VariantName) func(*Input) {
	return func(in *Input) {
		in.Benchmark.Spec.Variants = names
		for i := range in.Beds {
			for _, name := range names {
				in.Beds[i].Spec.Device.Variants = append(in.Beds[i].Spec.Device.Variants, v1alpha1.DeviceVariant{Name: name})
			}
		}
	}
}

func variants(g v1alpha1.AccessGrant, names ...v1alpha1.VariantName) v1alpha1.AccessGrant {
	g.Variants = names
	return g
}

// withValue lets the benchmark choose a variant with a parameter, which all beds have.
func withValue(value v1alpha1.ParameterValue) func(*Input) {
	return func(in *Input) {
		choosing("acl")(in)
		in.Benchmark.Spec.DeviceParameters = []v1alpha1.ChosenParameter{{Name: "entries", Value: value}}
		for i := range in.Beds {
			in.Beds[i].Spec.Device.Variants[0].Physical = &v1alpha1.PhysicalVariant{Parameters: []v1alpha1.DeviceParameter{
				{Name: "entries", Default: "1", ParameterBounds: v1alpha1.ParameterBounds{Range: &v1alpha1.ParameterRange{Minimum: 1, Maximum: 400}}},
			}}
		}
	}
}

// parameter grants values of a parameter.
func parameter(g v1alpha1.AccessGrant, name v1alpha1.ParameterName, values ...v1alpha1.ParameterValue) v1alpha1.AccessGrant {
	g.DeviceParameters = []v1alpha1.ParameterGrant{{Name: name, ParameterBounds: v1alpha1.ParameterBounds{Values: values}}}
	return g
}

// withLists lets the benchmark search the number of entries of lists, two of which all beds describe.
func withLists(tests ...v1alpha1.ConfigurationScaleTest) func(*Input) {
	return func(in *Input) {
		in.Benchmark.Spec.Tests = nil
		for i := range tests {
			tests[i].Load = "10%"
			in.Benchmark.Spec.Tests = append(in.Benchmark.Spec.Tests, v1alpha1.Test{Name: fmt.Sprintf("list-%d", i), ConfigurationScale: &tests[i]})
		}
		for i := range in.Beds {
			list := v1alpha1.AccessListScale{Ports: []string{"e1"}, Permit: []v1alpha1.AddressPrefix{"198.18.0.0/16"}}
			in.Beds[i].Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Management: &v1alpha1.DeviceManagement{
				SecretName: "one", SSH: &v1alpha1.SSHManagement{Platform: v1alpha1.PlatformEOS, Address: "192.0.2.1:22", Scales: []v1alpha1.DeviceScale{
					{Name: "acl", AccessList: list, Range: v1alpha1.ScaleRange{Minimum: 1, Maximum: 4000}},
					{Name: "nat", AccessList: list, Range: v1alpha1.ScaleRange{Minimum: 1, Maximum: 4000}},
				}},
			}}}
		}
	}
}

// list grants a list of at most so many entries.
func list(g v1alpha1.AccessGrant, name string, most int64) v1alpha1.AccessGrant {
	g.Scales = append(g.Scales, v1alpha1.ScaleGrant{Name: name, Maximum: most})
	return g
}

func anyBed(in *Input) {
	in.Benchmark.Spec.TestBedName, in.Benchmark.Spec.TestBedSelector = "", &metav1.LabelSelector{}
}

func TestAccess(t *testing.T) {
	for name, tc := range map[string]struct {
		changes []func(*Input)
		beds    []string
		// want are the problems, in their order.
		want []string
	}{
		"at the bounds": {
			changes: []func(*Input){asking(100, 12*time.Hour), granting(0, upTo(100, 12*time.Hour))},
			beds:    []string{"one"},
		},
		"a higher priority": {
			changes: []func(*Input){asking(101, 12*time.Hour), granting(0, upTo(100, 12*time.Hour))},
			want: []string{"spec.priority: Invalid value: 101: the grant of namespace team on TestBed one has a priority up to 100: " +
				"give at most 100, or ask the bed's owner to add this to spec.access: {names: [team], maxPriority: 101, maxDuration: 12h}"},
		},
		"a value of the bed": {
			changes: []func(*Input){asking(0, time.Hour), withValue("400"), granting(0, upTo(0, time.Hour))},
			beds:    []string{"one"},
		},
		"a value of the grant": {
			changes: []func(*Input){asking(0, time.Hour), withValue("20"), granting(0, parameter(upTo(0, time.Hour), "entries", "10", "20"))},
			beds:    []string{"one"},
		},
		"a value that is not granted": {
			changes: []func(*Input){asking(0, time.Hour), withValue("30"), granting(0, parameter(upTo(0, time.Hour), "entries", "10", "20"))},
			want: []string{`spec.deviceParameters[0].value: Invalid value: "30": the grant of namespace team on TestBed one has the parameter entries with one of 10, 20: ` +
				`give such a value, or ask the bed's owner to add this to spec.access: {names: [team], maxDuration: 1h, variants: [acl], deviceParameters: [{name: entries, values: ["30"]}]}`},
		},
		"a parameter that is not granted": {
			changes: []func(*Input){asking(0, time.Hour), withValue("30"), granting(0, parameter(upTo(0, time.Hour), "depth", "10"))},
			want: []string{`spec.deviceParameters[0].name: Invalid value: "entries": the grant of namespace team on TestBed one has only the parameters depth: ` +
				`choose only depth, or ask the bed's owner to add this to spec.access: {names: [team], maxDuration: 1h, variants: [acl], deviceParameters: [{name: entries, values: ["30"]}]}`},
		},
		"lists of the bed": {
			changes: []func(*Input){asking(0, time.Hour), withLists(v1alpha1.ConfigurationScaleTest{Name: "acl"}, v1alpha1.ConfigurationScaleTest{Name: "nat"}), granting(0, upTo(0, time.Hour))},
			beds:    []string{"one"},
		},
		"as many entries as the grant has": {
			changes: []func(*Input){asking(0, time.Hour), withLists(v1alpha1.ConfigurationScaleTest{Name: "acl", Maximum: 400}), granting(0, list(upTo(0, time.Hour), "acl", 400))},
			beds:    []string{"one"},
		},
		"a grant of a list without a maximum": {
			changes: []func(*Input){asking(0, time.Hour), withLists(v1alpha1.ConfigurationScaleTest{Name: "acl"}), granting(0, list(upTo(0, time.Hour), "acl", 0))},
			beds:    []string{"one"},
		},
		"a list that is not granted, and too many entries of another": {
			changes: []func(*Input){
				asking(0, time.Hour), withLists(v1alpha1.ConfigurationScaleTest{Name: "nat", Maximum: 7}, v1alpha1.ConfigurationScaleTest{Name: "acl", Maximum: 401}),
				granting(0, list(upTo(0, time.Hour), "acl", 400)),
			},
			want: []string{
				`spec.tests[0].configurationScale.name: Invalid value: "nat": the grant of namespace team on TestBed one has only the lists acl: ` +
					`choose only acl, or ask the bed's owner to add this to spec.access: {names: [team], maxDuration: 1h, scales: [{name: nat, maximum: 7}, {name: acl, maximum: 401}]}`,
				`spec.tests[1].configurationScale.maximum: Invalid value: 401: the grant of namespace team on TestBed one has the list acl with at most 400 entries: give a maximum of at most 400`,
			},
		},
		"no maximum where the grant has one": {
			changes: []func(*Input){asking(0, time.Hour), withLists(v1alpha1.ConfigurationScaleTest{Name: "acl"}), granting(0, list(upTo(0, time.Hour), "acl", 400))},
			want:    []string{`spec.tests[0].configurationScale.maximum: Invalid value: 4000: the grant of namespace team on TestBed one has the list acl with at most 400 entries`},
		},
		"a longer lease": {
			changes: []func(*Input){asking(0, 90*time.Minute), granting(0, upTo(100, time.Hour))},
			want: []string{"spec.activeDeadlineSeconds: Invalid value: 5400: the grant of namespace team on TestBed one has the bed for at most 1h: " +
				"give at most 3600, or ask the bed's owner to add this to spec.access: {names: [team], maxDuration: 1h30m}"},
		},
		"both": {
			changes: []func(*Input){asking(7, 2*time.Hour), granting(0, upTo(0, time.Hour))},
			want:    []string{"spec.priority: Invalid value: 7", "spec.activeDeadlineSeconds: Invalid value: 7200"},
		},
		"a low priority by a grant for low ones": {
			changes: []func(*Input){asking(-10, time.Hour), granting(0, upTo(-10, time.Hour))},
			beds:    []string{"one"},
		},
		"the default priority by a grant for low ones": {
			changes: []func(*Input){asking(0, time.Hour), granting(0, upTo(-10, time.Hour))},
			want:    []string{"spec.priority: Invalid value: 0: the grant of namespace team on TestBed one has a priority up to -10"},
		},
		"two grants, each of which allows one half": {
			changes: []func(*Input){asking(50, 12*time.Hour), granting(0, upTo(0, 12*time.Hour), upTo(50, time.Hour))},
			want:    []string{"spec.priority: Invalid value: 50: the grant of namespace team on TestBed one has a priority up to 0"},
		},
		"two grants, the second of which fits": {
			changes: []func(*Input){asking(50, time.Hour), granting(0, upTo(0, 12*time.Hour), upTo(50, time.Hour))},
			beds:    []string{"one"},
		},
		"by labels, beds whose grant does not fit are left out": {
			changes: []func(*Input){anyBed, asking(50, time.Hour), granting(1, upTo(50, time.Hour))},
			beds:    []string{"two"},
		},
		"by labels, the bed where least is missing is named": {
			changes: []func(*Input){anyBed, asking(50, 2*time.Hour), granting(0, upTo(0, time.Hour)), granting(1, upTo(49, 2*time.Hour))},
			want:    []string{"spec.priority: Invalid value: 50: the grant of namespace team on TestBed two has a priority up to 49"},
		},
		"a variant within the grant": {
			changes: []func(*Input){asking(0, time.Hour), choosing("fec-on"), granting(0, variants(upTo(0, time.Hour), "plain", "fec-on"))},
			beds:    []string{"one"},
		},
		"a variant beyond the grant": {
			changes: []func(*Input){asking(0, time.Hour), choosing("plain", "fec-on"), granting(0, variants(upTo(0, time.Hour), "plain"))},
			want: []string{`spec.variants[1]: Invalid value: "fec-on": the grant of namespace team on TestBed one has only the variants plain: ` +
				"name only plain, or ask the bed's owner to add this to spec.access: {names: [team], maxDuration: 1h, variants: [plain, fec-on]}"},
		},
		"two grants, one for each variant": {
			changes: []func(*Input){asking(0, time.Hour), choosing("fec-on"), granting(0, variants(upTo(0, time.Hour), "plain"), variants(upTo(0, time.Hour), "fec-on"))},
			beds:    []string{"one"},
		},
		"no variant, by a grant for some": {
			changes: []func(*Input){asking(0, time.Hour), granting(0, variants(upTo(0, time.Hour), "plain"))},
			beds:    []string{"one"},
		},
		"a priority does not need what others have": {
			changes: []func(*Input){asking(50, time.Hour), granting(0, grant(func(g *v1alpha1.AccessGrant) { g.Names = []string{"other"} }))},
			want:    []string{"add this to spec.access: {names: [team], maxPriority: 50, maxDuration: 1h}"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(tc.changes...)
			a := Benchmark(in)
			if len(a.Problems) != len(tc.want) {
				t.Fatalf("%d problems, want %d: %v", len(a.Problems), len(tc.want), a.Problems)
			}
			for i, want := range tc.want {
				if !strings.Contains(a.Problems[i].Error(), want) {
					t.Errorf("problem %d is\n%s\nwant one with\n%s", i, a.Problems[i], want)
				}
			}
			var beds []string
			for _, b := range a.Beds {
				beds = append(beds, b.Name)
			}
			if !slices.Equal(beds, tc.beds) {
				t.Errorf("beds %q, want %q", beds, tc.beds)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	short, long := upTo(0, time.Hour), upTo(0, 12*time.Hour)
	for name, tc := range map[string]struct {
		lease  time.Duration
		grants []v1alpha1.AccessGrant
		want   []Limit
	}{
		"no bound":                            {time.Hour, []v1alpha1.AccessGrant{short}, nil},
		"a bound":                             {time.Hour, []v1alpha1.AccessGrant{running(2, short)}, []Limit{{"namespace/team", 2}}},
		"the highest of two":                  {time.Hour, []v1alpha1.AccessGrant{running(2, short), running(3, short)}, []Limit{{"namespace/team", 3}}},
		"none beats any":                      {time.Hour, []v1alpha1.AccessGrant{running(2, short), short, running(3, short)}, nil},
		"of those that fit only":              {2 * time.Hour, []v1alpha1.AccessGrant{short, running(1, long)}, []Limit{{"namespace/team", 1}}},
		"a benchmark that no longer fits any": {24 * time.Hour, []v1alpha1.AccessGrant{running(1, long)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(asking(0, tc.lease), granting(0, tc.grants...))
			if got := Limits(&in.Beds[0], in.Namespace, NewRequest(nil, in.Benchmark)); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
