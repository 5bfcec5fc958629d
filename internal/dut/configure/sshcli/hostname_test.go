package sshcli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
)

// TestWithoutHostname has configurations of FRR without a name: vtysh would report the name of the machine in place of it.
func TestWithoutHostname(t *testing.T) {
	const want = `it has no line "hostname", which the device always reports: add the one that the device has, such as hostname leaf-1`
	for text, want := range map[string]string{
		"ip route 198.18.55.0/24 198.18.1.9\n":                              want,
		"ip route 198.18.55.0/24 198.18.1.9\nrouter bgp 1\n hostname dut\n": want,
		"ip route 198.18.55.0/24 198.18.1.9\nhostname dut\n":                "",
		"hostname dut\n": "",
	} {
		_, err := configure.Whole(sshcli.FRR.Dialect, text)
		if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestHostname gives FRR another name, which vtysh does not keep: the device has its former configuration again, before the time is over.
func TestHostname(t *testing.T) {
	r, driver, base := routerInContainer(t)
	name, rest, _ := strings.Cut(string(base), "\n")
	if !strings.HasPrefix(name, "hostname ") {
		t.Fatalf("the device has %s", base)
	}
	before := r.Exec("vtysh", "-c", "show running-config")
	_, err := configure.Apply(t.Context(), driver, other(configure.Configuration("hostname leaf-1\n"+rest), 3), time.Minute)
	if err == nil || !strings.Contains(err.Error(), `"- hostname leaf-1"`) {
		t.Errorf("%v, want that FRR has another name", err)
	}
	if after := r.Exec("vtysh", "-c", "show running-config"); after != before {
		t.Errorf("the device has %s, want %s", after, before)
	}
}
