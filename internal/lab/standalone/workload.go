package standalone

import (
	"fmt"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/workload/kernelstack"
)

// openWorkload opens the engine of applications with the kernel's TCP on the ports of the bed, if a test needs
// it.
func (b *Bench) openWorkload(ports []plan.Port) error {
	if !plan.NeedHosts(b.config.Benchmark.Spec.Tests) {
		return nil
	}
	engine, err := kernelstack.New(plan.HostPorts(ports, &b.config.Profile))
	if err != nil {
		return fmt.Errorf("opening the hosts on the ports: %w", err)
	}
	b.workload = engine
	b.closers = append(b.closers, engine.Close)
	return nil
}
