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
	objects, err := chart(t, "--namespace", "lab-system", "--set", "fairness.enabled=true,fairness.userShares=7,fairness.teamNamespaces={team-a,team-b}")
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
	team := as[flowcontrolv1.FlowSchema](t, objects, "FlowSchema", "nodrop-team-team-b")
	rule := team.Spec.Rules[0]
	if group := rule.Subjects[0].Group; group == nil || group.Name != "system:serviceaccounts:team-b" || rule.ResourceRules[0].APIGroups[0] != "*" {
		t.Errorf("the rule of team-b is %+v", rule)
	}
	if team.Spec.DistinguisherMethod != nil || team.Spec.PriorityLevelConfiguration != users.Spec.PriorityLevelConfiguration ||
		team.Spec.MatchingPrecedence >= users.Spec.MatchingPrecedence {
		t.Errorf("the accounts of team-b are not one user among the others: %+v", team.Spec)
	}
	find(t, objects, "FlowSchema", "nodrop-team-team-a")
	find(t, objects, "PriorityLevelConfiguration", operator.Spec.PriorityLevelConfiguration.Name)
}
