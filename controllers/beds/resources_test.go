package beds

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestClaimProblem(t *testing.T) {
	kind := schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}
	for name, tc := range map[string]struct {
		err           error
		problem, fail string
	}{
		"there":      {nil, "", ""},
		"not served": {&meta.NoKindMatchError{GroupKind: kind, SearchedVersions: []string{"v1"}}, "the cluster does not serve resource.k8s.io/v1, by which devices are claimed: use Kubernetes 1.34", ""},
		"not there":  {apierrors.NewNotFound(schema.GroupResource{}, "dut"), "ResourceClaimTemplate dut is not in the lab's namespace nodrop-lab", ""},
		"no answer":  {errors.New("connection refused"), "", "reading ResourceClaimTemplate dut: connection refused"},
	} {
		problem, err := claimProblem(client.ObjectKey{Namespace: "nodrop-lab", Name: "dut"}, tc.err)
		if !strings.HasPrefix(problem, tc.problem) || (problem == "") != (tc.problem == "") || (err == nil) != (tc.fail == "") || err != nil && err.Error() != tc.fail {
			t.Errorf("%s: %q, %v", name, problem, err)
		}
	}
}
