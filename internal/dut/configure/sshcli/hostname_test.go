package sshcli_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/container"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/testkit/containertest"
)

// TestWithoutHostname has configurations of FRR without a name: vtysh would report the name of the machine in place of it.
func TestWithoutHostname(t *testing.T) {
	const want = `it has no line "hostname", which the device always reports: add one, such as hostname leaf-1`
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

// TestHostname gives FRR another name, and the one that it had.
func TestHostname(t *testing.T) {
	d := containertest.Start(t)
	r := d.Router("dut")
	driver, err := sshcli.New(sshcli.FRR, container.Config{Name: "dut", Host: "unix://" + d.Socket, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	base, err := configure.Read(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	name, rest, _ := strings.Cut(string(base), "\n")
	if !strings.HasPrefix(name, "hostname ") {
		t.Fatalf("the device has %s", base)
	}
	renamed := other(configure.Configuration("hostname leaf-1\n"+rest), 3)
	for _, wanted := range []configure.Configuration{renamed, base} {
		record, err := configure.Apply(t.Context(), driver, wanted, time.Minute)
		if err != nil || record.Sessions != 1 {
			t.Fatalf("%v, %d sessions, want %s", err, record.Sessions, wanted)
		}
		if now := r.Exec("vtysh", "-c", "show running-config"); strings.Contains(now, "\nhostname leaf-1\n") != (wanted == renamed) {
			t.Errorf("the device has %s, want %s", now, wanted)
		}
	}
}
