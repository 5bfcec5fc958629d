package kubetest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// KStatus returns the status of an object as computed by Flux, kpt and others.
func KStatus(t testing.TB, obj any) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// Conditions returns conditions as "Status Reason" by type.
func Conditions(all []metav1.Condition) map[string]string {
	said := map[string]string{}
	for _, c := range all {
		said[c.Type] = string(c.Status) + " " + c.Reason
	}
	return said
}
