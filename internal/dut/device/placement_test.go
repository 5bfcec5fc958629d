package device

import (
	"reflect"
	"testing"
)

func TestPlace(t *testing.T) {
	for name, c := range map[string]struct {
		processors     []int
		interfaces     int
		tester, device []int
	}{
		"one processor":                {[]int{0}, 2, []int{0}, nil},
		"two processors":               {[]int{0, 1}, 2, []int{0}, []int{1}},
		"three processors":             {[]int{0, 1, 2}, 2, []int{0, 1}, []int{2}},
		"four processors":              {[]int{0, 1, 2, 3}, 2, []int{0, 1}, []int{2, 3}},
		"four of a cpuset":             {[]int{2, 3, 8, 9}, 2, []int{2, 3}, []int{8, 9}},
		"more than interfaces":         {[]int{0, 1, 2, 3, 4, 5, 6, 7}, 2, []int{0, 1, 2, 3, 4, 5}, []int{6, 7}},
		"eight with four interfaces":   {[]int{0, 1, 2, 3, 4, 5, 6, 7}, 4, []int{0, 1, 2, 3}, []int{4, 5, 6, 7}},
		"two with four interfaces":     {[]int{0, 1}, 4, []int{0}, []int{1}},
		"a device without interfaces":  {[]int{0, 1}, 0, []int{0, 1}, nil},
		"four with a single interface": {[]int{0, 1, 2, 3}, 1, []int{0, 1, 2}, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Place(c.processors, c.interfaces)
			if !reflect.DeepEqual(got.Tester, c.tester) || !reflect.DeepEqual(got.Device, c.device) {
				t.Errorf("tester %v and device %v, want %v and %v", got.Tester, got.Device, c.tester, c.device)
			}
			if (got.Together == "") != (c.device != nil) {
				t.Errorf("together: %q", got.Together)
			}
		})
	}
}
