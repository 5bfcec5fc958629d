package result

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// countersNamed is the number of counters that the message of a row names.
const countersNamed = 3

// DescribeReadings returns what the device's own counters show of the frames that were lost in all trials of a row; empty if no
// frame was lost and none was counted.
func DescribeReadings(r *v1alpha1.DeviceReadings) string {
	if r == nil {
		return ""
	}
	text := ""
	switch {
	case r.Lost == 0 && r.Counted == 0 || r.Unexplained == nil:
	case r.Counted == 0:
		text = fmt.Sprintf("no counter of the device explains the %s frames that were lost in the trials", traffic.Grouped(r.Lost))
	case *r.Unexplained > 0:
		text = fmt.Sprintf("of %s frames that were lost in the trials, the device counted %s (%s), and no counter of it explains the other %s",
			traffic.Grouped(r.Lost), traffic.Grouped(r.Counted), named(r.Counters), traffic.Grouped(*r.Unexplained))
	case r.Lost == 0:
		text = "the device counted " + named(r.Counters)
	default:
		text = fmt.Sprintf("the device counted all %s frames that were lost in the trials: %s", traffic.Grouped(r.Lost), named(r.Counters))
	}
	return strings.TrimPrefix(strings.TrimSuffix(text+"; "+r.Message, "; "), "; ")
}

// named lists the largest counters: "1,492 input discards of Ethernet1/3".
func named(counters []v1alpha1.DeviceCounter) string {
	var texts []string
	for _, c := range counters[:min(len(counters), countersNamed)] {
		texts = append(texts, traffic.Grouped(c.Frames)+" "+c.Name)
	}
	if more := len(counters) - countersNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more counters", more))
	}
	return strings.Join(texts, ", ")
}
