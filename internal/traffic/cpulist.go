package traffic

import (
	"fmt"
	"strings"
)

// CPUList writes processors, in ascending order, as Linux does: 0-1,4.
func CPUList(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		part := fmt.Sprint(all[i])
		if last > i {
			part += fmt.Sprintf("-%d", all[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ",")
}
