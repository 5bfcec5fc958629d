package testserver

import (
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// The API server computes the cost of every CEL rule and refuses schemas that
// are too dear, so that only it can say whether the definitions can be installed.
func TestDefinitionsAreAccepted(t *testing.T) {
	cfg, _ := StartAPIServer(t, nil)
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	var definitions apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &definitions); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "charts", "nodrop", "files", "crds", "nodrop.dev_*.yaml"))
	if err != nil || len(files) == 0 || len(definitions.Items) != len(files) {
		t.Errorf("%d definitions were installed of %d files (%v)", len(definitions.Items), len(files), err)
	}
	for _, d := range definitions.Items {
		for _, c := range d.Status.Conditions {
			if c.Type == apiextensionsv1.NonStructuralSchema && c.Status == apiextensionsv1.ConditionTrue {
				t.Errorf("%s: %s", d.Name, c.Message)
			}
		}
	}
}
