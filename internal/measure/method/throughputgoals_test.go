package method

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/search"
)

// What the schema fills in where mlrSearch is given is what holds where it is not.
func TestSearchGoalsHaveTheDefaults(t *testing.T) {
	goals := func(mlr *v1alpha1.MLRsearchGoal) []search.Goal {
		t.Helper()
		test := completed(t, v1alpha1.Test{Throughput: &v1alpha1.ThroughputTest{Search: v1alpha1.SearchMLRsearch, MLRSearch: mlr, LossRatios: []v1alpha1.LossRatio{"0%", "0.5%"}}})[0].Throughput
		if mlr != nil && (test.MLRSearch.PrecedingTargets == nil || test.MLRSearch.Expansion == 0 || test.MLRSearch.ExceedRatio == "") {
			t.Fatalf("the schema fills nothing in: %+v", test.MLRSearch)
		}
		goals, err := searchGoals(*test)
		if err != nil {
			t.Fatal(err)
		}
		return goals
	}
	ndr := search.Goal{Name: "NDR", InitialTrialDuration: time.Second, FinalTrialDuration: time.Minute, DurationSum: time.Minute, PrecedingTargets: 2, Expansion: 2}
	pdr := ndr
	pdr.Name, pdr.LossRatioPPM = "PDR", 5000
	if without, given := goals(nil), goals(&v1alpha1.MLRsearchGoal{}); !reflect.DeepEqual(without, []search.Goal{ndr, pdr}) || !reflect.DeepEqual(given, without) {
		t.Errorf("goals %+v, with mlrSearch: {} %+v, want %+v and %+v", without, given, ndr, pdr)
	}
	pdr.ExceedRatioPPM, pdr.DurationSum = 500_000, 2*time.Minute
	got := goals(&v1alpha1.MLRsearchGoal{Goals: []v1alpha1.LossRatioGoal{{LossRatio: "0.5%", ExceedRatio: "50%", DurationSum: &metav1.Duration{Duration: 2 * time.Minute}}}})
	if !reflect.DeepEqual(got, []search.Goal{ndr, pdr}) {
		t.Errorf("goals %+v, want the exceed ratio of the second alone: %+v and %+v", got, ndr, pdr)
	}
}
