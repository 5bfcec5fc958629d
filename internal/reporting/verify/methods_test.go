package verify_test

import (
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/reporting/verify"
)

// TestEveryMethodIsVerified refuses a method of the catalogue whose rows nothing recomputes.
func TestEveryMethodIsVerified(t *testing.T) {
	for _, d := range method.All() {
		for _, name := range append([]v1alpha1.Method{d.Name}, d.Further...) {
			if !verify.Methods(name) {
				t.Errorf("rows of method %s are not verified: add it to the table in internal/reporting/verify/methods.go", name)
			}
		}
	}
}
