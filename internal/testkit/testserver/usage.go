package testserver

import (
	"fmt"
	"slices"

	"github.com/prometheus/procfs"
)

// Programs are the programs that an API server consists of.
var Programs = []string{"kube-apiserver", "etcd"}

// Usage returns what the API server and etcd of a parent process have used until now, by program: processor
// time in seconds, and the most memory that they have had in MiB.
func Usage(parent int) (cpu, memory map[string]float64, err error) {
	cpu, memory = map[string]float64{}, map[string]float64{}
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, nil, fmt.Errorf("listing processes: %w", err)
	}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PPID != parent || !slices.Contains(Programs, stat.Comm) {
			continue
		}
		// A process that has ended since has no status any more.
		if status, err := p.NewStatus(); err == nil {
			cpu[stat.Comm] += stat.CPUTime()
			memory[stat.Comm] += float64(status.VmHWM) / (1 << 20)
		}
	}
	return cpu, memory, nil
}
