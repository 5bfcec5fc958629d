package napi

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMask(t *testing.T) {
	for processor, want := range map[int]string{0: "1", 1: "2", 31: "80000000", 32: "1,00000000", 70: "40,00000000,00000000"} {
		if got := mask(processor); got != want {
			t.Errorf("%d: %q, want %q", processor, got, want)
		}
	}
}

func TestSteerSetsTheProcessor(t *testing.T) {
	veth(t, true)
	if err := Steer("d1", 0); err != nil {
		t.Fatal(err)
	}
	// The test's thread ends with it, and its namespaces too.
	for _, err := range []error{
		unix.Unshare(unix.CLONE_NEWNS),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("sysfs", "/sys", "sysfs", 0, ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("/proc/thread-self/root/sys/class/net/d1/queues/rx-0/rps_cpus")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(text)); strings.TrimLeft(got, "0,") != "1" {
		t.Errorf("processors %q, want the first", got)
	}
}

func TestSteerRefuses(t *testing.T) {
	veth(t, true)
	if err := Steer("moo", 0); err == nil || !strings.Contains(err.Error(), "steering what moo receives to processor 0: opening class/net/moo/") {
		t.Errorf("%v", err)
	}
}
