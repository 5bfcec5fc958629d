// Package longtest leaves tests to make test-long.
package longtest

import "testing"

// Skip skips a test in short runs: it takes seconds, and another test covers its subject.
func Skip(t *testing.T, other string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("takes long: make test-long; short runs have %s", other)
	}
}
