package scale_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/nftables"
	"nodrop.dev/nodrop/internal/dut/configure/scale"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

const rules = "table ip lab {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t}\n}\n"

// TestScale gives Linux lists of several lengths over SSH, and what it had again.
func TestScale(t *testing.T) {
	l := sshrouter.StartLinux(t)
	l.Cable("nd-scale1", "e1")
	l.Cable("nd-scale2", "e2")
	l.Load(rules)
	driver, err := nftables.New(l.Access())
	if err != nil {
		t.Fatal(err)
	}
	base, err := configure.Read(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	described := func(name string, ports ...string) v1alpha1.DeviceScale {
		return v1alpha1.DeviceScale{
			Name: name, Range: v1alpha1.ScaleRange{Minimum: 2, Maximum: 4000},
			AccessList: v1alpha1.AccessListScale{Ports: ports, Permit: []v1alpha1.AddressPrefix{"198.18.1.0/24", "198.18.2.0/24"}},
		}
	}
	s := scale.New(driver, "nftables", base, []v1alpha1.DeviceScale{described("acl", "e1", "e2"), described("elsewhere", "e1", "an-interface-too")})
	before := l.Running()
	for _, n := range []int64{201, 4000, 2, 0} {
		if rejected, err := s.Scale(t.Context(), "acl", n); err != nil || rejected != "" {
			t.Fatalf("%d entries: rejected %q, %v", n, rejected, err)
		}
		running := l.Running()
		if got := int64(strings.Count(running, " drop\n") + strings.Count(running, " accept\n")); n > 0 && got != n+1 || n == 0 && running != before {
			t.Errorf("%d entries, want %d:\n%.400s", got, n, running)
		}
		if n > 0 && !strings.Contains(running, strings.TrimSpace(rules[:strings.Index(rules, "{")])) {
			t.Errorf("with %d entries the device has lost what it had:\n%.400s", n, running)
		}
	}
	// A list at an interface that Linux cannot have is rejected, and takes nothing away.
	if rejected, err := s.Scale(t.Context(), "elsewhere", 201); err != nil || !strings.Contains(rejected, "Numerical result out of range") || l.Running() != before {
		t.Errorf("rejected %q, %v; the device has\n%s", rejected, err, l.Running())
	}
	for want, n := range map[string]int64{"entries: Invalid value: 1: the bed allows 2 to 4000": 1, "entries: Invalid value: 4001: the bed allows 2 to 4000": 4001, "entries: Invalid value: -1": -1} {
		if _, err := s.Scale(t.Context(), "acl", n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := s.Scale(t.Context(), "nat", 2); err == nil || !strings.Contains(err.Error(), `name: Unsupported value: "nat": the bed describes acl, elsewhere`) {
		t.Error(err)
	}
	if after := l.Running(); after != before {
		t.Errorf("the device has\n%s\nwant\n%s", after, before)
	}
	// A device that is away is no device that rejects a list.
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the run ended")
	cancel(cause)
	if rejected, err := s.Scale(ctx, "acl", 201); rejected != "" || !errors.Is(err, cause) {
		t.Errorf("rejected %q, %v", rejected, err)
	}
}
