package runner

import (
	"errors"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

// NewSim makes the engine sim for a configuration: the bed's ports, and the
// model's text.
func NewSim(cfg Config, opts ...sim.Option) (*sim.Engine, error) {
	if cfg.Bed.Spec.Engine.Kind != v1alpha1.EngineSim {
		return nil, errors.New("the bed's engine is not sim")
	}
	ports, errs := plan.Ports(&cfg.Bed)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	modelled := make([]sim.Port, len(ports))
	for i, p := range ports {
		modelled[i] = sim.Port{Name: p.Name, BitsPerSecond: p.BitsPerSecond}
	}
	average, maximum, err := cfg.tables()
	if err != nil {
		return nil, err
	}
	opts = append([]sim.Option{sim.WithJitter(average, maximum)}, opts...)
	device, found := cfg.Bed.Spec.Device.As(cfg.Variant)
	if !found {
		return nil, fmt.Errorf("test bed %s has no variant %q of its device", cfg.Bed.Name, cfg.Variant)
	}
	if d := device.Simulated; d != nil && d.Behaviour != nil {
		opts = append([]sim.Option{sim.WithBehaviour(*d.Behaviour)}, opts...)
	}
	return sim.New(cfg.Model, modelled, opts...)
}
