package selection

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// matching has so many labels, expressions, and values of the first expression.
func matching(matchLabels, expressions, values int) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for i := range matchLabels {
		s.MatchLabels[fmt.Sprint("l", i)] = "v"
	}
	for i := range expressions {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: fmt.Sprint("e", i), Operator: metav1.LabelSelectorOpExists})
	}
	if values > 0 {
		s.MatchExpressions[0].Operator = metav1.LabelSelectorOpIn
	}
	for i := range values {
		s.MatchExpressions[0].Values = append(s.MatchExpressions[0].Values, fmt.Sprint("v", i))
	}
	return s
}

func TestProblems(t *testing.T) {
	long := matching(0, 1, 1)
	long.MatchExpressions[0].Values[0] = strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		s    *metav1.LabelSelector
		want string
	}{
		"absent":              {nil, ""},
		"everything":          {matching(0, 0, 0), ""},
		"as many as allowed":  {matching(16, 16, 32), ""},
		"too many labels":     {matching(17, 0, 0), "spec.s.matchLabels: Invalid value: 17: the selector has 17 of these, and may have 0 to 16: "},
		"too many exprs":      {matching(0, 17, 0), "spec.s.matchExpressions: Invalid value: 17: "},
		"too many values":     {matching(0, 1, 33), "spec.s.matchExpressions[0].values: Invalid value: 33: the selector has 33 of these, and may have 0 to 32: "},
		"a value of a MiB":    {long, "a value has at most 63 characters"},
		"an unknown operator": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}, `"Like" is not a valid label selector operator: use matchLabels`},
	} {
		t.Run(name, func(t *testing.T) {
			text := ""
			if err := Problems(field.NewPath("spec", "s"), tc.s).ToAggregate(); err != nil {
				text = err.Error()
			}
			if (text == "") != (tc.want == "") || !strings.Contains(text, tc.want) {
				t.Errorf("%.300s\nwant %s", text, tc.want)
			}
			if len(text) > 1000 {
				t.Errorf("the message has %d bytes", len(text))
			}
		})
	}
}

func TestCompile(t *testing.T) {
	set := labels.Set{"a": "b"}
	for name, tc := range map[string]struct {
		s    *metav1.LabelSelector
		want bool
	}{
		"absent":    {nil, false},
		"empty":     {&metav1.LabelSelector{}, true},
		"matches":   {&metav1.LabelSelector{MatchLabels: set}, true},
		"another":   {&metav1.LabelSelector{MatchLabels: map[string]string{"a": "c"}}, false},
		"malformed": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}, false},
	} {
		if got := Compile(tc.s).Matches(set); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
