package config

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestValuesOfAnEarlierRelease renders the chart with values that lack a section, as helm upgrade --reuse-values does
// where the section is new: the defaults of the operator apply.
func TestValuesOfAnEarlierRelease(t *testing.T) {
	for _, section := range []string{"bedProbes", "connections", "deadlines", "fairness", "kueue", "labPage", "notifications", "retention"} {
		objects, err := chart(t, "--set", section+"=null")
		if err != nil {
			t.Errorf("without %s: %v", section, err)
			continue
		}
		operator := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-operator")
		for _, arg := range operator.Spec.Template.Spec.Containers[0].Args {
			if strings.HasSuffix(arg, "=") || strings.Contains(arg, "nil") {
				t.Errorf("without %s the operator has the flag %s", section, arg)
			}
		}
	}
}
