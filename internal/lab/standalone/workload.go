package standalone

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/workload/kernelstack"
)

// openWorkload opens the engine of applications with the kernel's TCP on the ports of the bed, if a test needs
// it.
func (b *Bench) openWorkload(ports []plan.Port) error {
	if !slices.ContainsFunc(b.config.Benchmark.Spec.Tests, func(t v1alpha1.Test) bool { return plan.HostsOf(t) != "" }) {
		return nil
	}
	var all []kernelstack.Port
	for _, p := range ports {
		one := kernelstack.Port{Name: p.Name, Interface: p.Interface, Gateway: p.Gateway(false)}
		one.Address, _ = p.Address(false)
		for _, address := range p.HostAddresses(&b.config.Profile) {
			one.Taken = append(one.Taken, address.Addr())
		}
		all = append(all, one)
	}
	engine, err := kernelstack.New(all)
	if err != nil {
		return fmt.Errorf("opening the hosts on the ports: %w", err)
	}
	b.workload = engine
	b.closers = append(b.closers, engine.Close)
	return nil
}
