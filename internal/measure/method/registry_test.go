package method

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// Every method says what it measures, and how its trials are described.
func TestEveryMethodDescribesItself(t *testing.T) {
	if len(definitions) < 18 {
		t.Fatalf("%d kinds of rows are known", len(definitions))
	}
	for name, d := range definitions {
		if d.Run == nil || d.Given == nil || d.Steps == nil || d.Trials == nil || d.Purpose == "" || d.Member == "" {
			t.Errorf("method %s leaves out what it must say: %+v", name, d)
		}
	}
	if d, ok := Describe(v1alpha1.MethodPartialDropRate); !ok || d.Name != v1alpha1.MethodThroughput {
		t.Errorf("rows of a partial drop rate are of %q", d.Name)
	}
}

func TestAMethodIsDefinedOnce(t *testing.T) {
	tests := map[string]plan.Method{
		"name":               {Name: v1alpha1.MethodLatency, Member: "another"},
		"name of other rows": {Name: v1alpha1.MethodPartialDropRate, Member: "another"},
		"further name":       {Name: "Another", Member: "another", Further: []v1alpha1.Method{v1alpha1.MethodSoak}},
		"member":             {Name: "Another", Member: "soak"},
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "is registered twice") {
					t.Errorf("it was defined again: %q", text)
				}
			}()
			define(trials.Definition{Method: m})
		})
	}
}

func TestThroughputRefuses(t *testing.T) {
	mlr := func(more v1alpha1.MLRsearchGoal, ratios ...v1alpha1.LossRatio) v1alpha1.ThroughputTest {
		return v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch, MLRSearch: &more, LossRatios: ratios, TrialDuration: metav1.Duration{Duration: time.Minute}}
	}
	tests := map[string]struct {
		test v1alpha1.ThroughputTest
		want []string
	}{
		"same loss ratio twice": {mlr(v1alpha1.MLRsearchGoal{}, "0%", "0.5%", "0.50%"),
			[]string{`throughput.lossRatios[2]: Duplicate value: "0.50%"`}},
		"exceed ratio of one trial": {mlr(v1alpha1.MLRsearchGoal{Goals: []v1alpha1.LossRatioGoal{{LossRatio: "0.5%", ExceedRatio: "40%"}}}, "0%", "0.5%"),
			[]string{`throughput.search: Invalid value: "MLRsearch": the goal of loss ratio 0.5%: the exceedRatio 40% of a durationSum of 1m0s is 24s, which no trial of 1m0s fits into, so that none may have more loss: raise durationSum to 2m30s, or leave exceedRatio out`}},
		"goal of no loss ratio": {mlr(v1alpha1.MLRsearchGoal{Goals: []v1alpha1.LossRatioGoal{{LossRatio: "1%"}}}, "0%", "0.5%"),
			[]string{`throughput.mlrSearch.goals[0].lossRatio: Invalid value: "1%": lossRatios does not have it`}},
		"duration sum too short": {mlr(v1alpha1.MLRsearchGoal{DurationSum: &metav1.Duration{Duration: time.Second}}),
			[]string{`throughput.search: Invalid value: "MLRsearch"`, "a duration sum of at least that"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			errs := validateThroughput(v1alpha1.Test{Throughput: &tc.test}, field.NewPath("throughput"))
			for _, text := range tc.want {
				if len(errs) != 1 || !strings.Contains(errs[0].Error(), text) {
					t.Errorf("errors %v, want %q", errs, text)
				}
			}
		})
	}
	if errs := validateThroughput(v1alpha1.Test{Throughput: &v1alpha1.ThroughputTest{}}, field.NewPath("throughput")); len(errs) > 0 {
		t.Errorf("the defaults: %v", errs)
	}
}

func TestThroughputSearchesByTheDefaults(t *testing.T) {
	steps := throughputSteps(completed(t, v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}})[0], plan.Scale{})
	if len(steps) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	if s := steps[0].Search; s.MinPPM != 1000 || s.MaxPPM != 1_000_000 || s.ResolutionPPM != 1000 ||
		s.TrialDuration != time.Minute || s.SearchTrialDuration != 10*time.Second {
		t.Errorf("search %+v, want the API's defaults", s)
	}
}
