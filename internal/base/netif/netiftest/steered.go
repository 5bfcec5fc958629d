package netiftest

import (
	"math/bits"
	"strconv"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/base/netif/sysfs"
)

// Steered are the processors that take in what an interface of the calling thread's
// network namespace receives; none where each takes in what it polls.
func Steered(t *testing.T, iface string) (all []int) {
	t.Helper()
	text, err := sysfs.Read(netif.SteeringFile(iface))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSpace(text), ",")
	for i := range words {
		word, err := strconv.ParseUint(words[len(words)-1-i], 16, 32)
		if err != nil {
			t.Fatalf("processors of %s: %q: %v", iface, text, err)
		}
		for ; word != 0; word &= word - 1 {
			all = append(all, 32*i+bits.TrailingZeros64(word))
		}
	}
	return all
}
