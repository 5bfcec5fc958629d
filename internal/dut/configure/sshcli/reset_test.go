package sshcli_test

import (
	"errors"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// TestReset shuts an interface of FRR down and brings it up again by commands of vtysh. A command that vtysh rejects ends a reset, and
// what vtysh asks is not answered.
func TestReset(t *testing.T) {
	r := sshrouter.Start(t)
	driver, err := sshcli.New(sshcli.FRR, r.Access())
	if err != nil {
		t.Fatal(err)
	}
	resets := configure.NewResets(driver, []v1alpha1.DeviceReset{
		{Name: "down", Commands: []string{"configure terminal", "interface p1", "shutdown", "end"}},
		{Name: "up", Commands: []string{"configure terminal", "interface p1", "no shutdown", "end"}},
		{Name: "wrong", Commands: []string{"configure terminal", "interface p1", "shutdwon", "no shutdown"}},
	})
	for _, reset := range []struct{ name, state string }{{"down", "Interface p1 is down"}, {"up", "Interface p1 is up"}} {
		if err := resets.Reset(t.Context(), reset.name); err != nil {
			t.Fatal(err)
		}
		if out := r.Enter("show interface p1"); !strings.Contains(out, reset.state) {
			t.Errorf("after %s the state is not %q:\n%s", reset.name, reset.state, out)
		}
	}
	var rejected *configure.RejectedError
	if err := resets.Reset(t.Context(), "wrong"); !errors.As(err, &rejected) || rejected.Command != "shutdwon" || !strings.Contains(err.Error(), "Unknown command") {
		t.Errorf("a command that does not exist: %v", err)
	}
}
