package config

import (
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
)

// TestFairness checks that the chart limits requests only if that is enabled, and that the operator
// then has seats of its own, in whichever namespace it runs.
func TestFairness(t *testing.T) {
	without, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range without {
		if strings.Contains(o.GetAPIVersion(), flowcontrolv1.GroupName) {
			t.Errorf("%s %s is installed by default", o.GetKind(), o.GetName())
		}
	}
	objects, err := chart(t, "--namespace", "lab-system", "--set", "fairness.enabled=true,fairness.userShares=7")
	if err != nil {
		t.Fatal(err)
	}
	operator := as[flowcontrolv1.FlowSchema](t, objects, "FlowSchema", "nodrop-operator")
	users := as[flowcontrolv1.FlowSchema](t, objects, "FlowSchema", "nodrop-users")
	if account := operator.Spec.Rules[0].Subjects[0].ServiceAccount; account == nil || account.Namespace != "lab-system" || account.Name != "nodrop-operator" {
		t.Errorf("%+v has the seats, want the operator", account)
	}
	// The schemas of Kubernetes for service accounts and for all users have 9000 and 9900.
	if operator.Spec.MatchingPrecedence >= users.Spec.MatchingPrecedence || users.Spec.MatchingPrecedence >= 9000 {
		t.Errorf("the precedence is %d and %d", operator.Spec.MatchingPrecedence, users.Spec.MatchingPrecedence)
	}
	level := as[flowcontrolv1.PriorityLevelConfiguration](t, objects, "PriorityLevelConfiguration", users.Spec.PriorityLevelConfiguration.Name).Spec.Limited
	if *level.NominalConcurrencyShares != 7 || *level.BorrowingLimitPercent != 0 {
		t.Errorf("users have %d shares, and borrow up to %d %%", *level.NominalConcurrencyShares, *level.BorrowingLimitPercent)
	}
	find(t, objects, "PriorityLevelConfiguration", operator.Spec.PriorityLevelConfiguration.Name)
}
