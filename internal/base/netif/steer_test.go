package netif

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/namespacetest"
)

func TestMask(t *testing.T) {
	for processor, want := range map[int]string{0: "1", 1: "2", 31: "80000000", 32: "1,00000000", 70: "40,00000000,00000000"} {
		if got := mask(processor); got != want {
			t.Errorf("%d: %q, want %q", processor, got, want)
		}
	}
}

func TestSteerRefuses(t *testing.T) {
	namespacetest.Enter(t)
	if err := Steer("moo", 0); err == nil || !strings.Contains(err.Error(), "steering what moo receives to processor 0: opening class/net/moo/") {
		t.Errorf("%v", err)
	}
}
