package traffic

import "k8s.io/utils/cpuset"

// CPUList writes processors as Linux does: 0-1,4.
func CPUList(all []int) string { return cpuset.New(all...).String() }
