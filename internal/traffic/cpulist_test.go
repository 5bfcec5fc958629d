package traffic

import "testing"

func TestCPUList(t *testing.T) {
	for want, all := range map[string][]int{"": nil, "3": {3}, "0-1": {0, 1}, "0-2,4,6-7": {0, 1, 2, 4, 6, 7}} {
		if got := CPUList(all); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}
