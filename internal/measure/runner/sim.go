package runner

import (
	"errors"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
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

// Table is a table of a modelled device: which member of the device names it,
// where it is read from, and where the configuration keeps its text.
type Table struct {
	Member string
	Ref    v1alpha1.ConfigMapKeyReference
	Text   *string
}

// Tables returns the tables that the bed's device names in the variant of the run, the model
// first; none for a device that is not modeled.
func (c *Config) Tables() []Table {
	device, _ := c.Bed.Spec.Device.As(c.Variant)
	d := device.Simulated
	if d == nil {
		return nil
	}
	tables := []Table{{"model", d.Model.ConfigMapRef, &c.Model}}
	for _, t := range []struct {
		member string
		source *v1alpha1.ModelSource
		text   *string
	}{
		{"jitterAverageByLoad", d.JitterAverageByLoad, &c.JitterAverageByLoad},
		{"jitterMaximumByLoad", d.JitterMaximumByLoad, &c.JitterMaximumByLoad},
	} {
		if t.source != nil {
			tables = append(tables, Table{t.member, t.source.ConfigMapRef, t.text})
		}
	}
	return tables
}

// CheckTables reads all tables. Its errors name ConfigMap and key, line, column
// and value.
func (c *Config) CheckTables() error {
	_, _, err := c.tables()
	return err
}

// tables reads all tables, and returns those of the jitter; nil where the device
// has none.
func (c *Config) tables() (average, maximum *sim.JitterTable, err error) {
	for _, t := range c.Tables() {
		switch t.Text {
		case &c.JitterAverageByLoad:
			average, err = sim.ParseJitter(*t.Text)
		case &c.JitterMaximumByLoad:
			maximum, err = sim.ParseJitter(*t.Text)
		default:
			_, err = sim.ParseModel(*t.Text)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("device.simulated.%s: ConfigMap %s, key %s: %w", t.Member, t.Ref.Name, t.Ref.Key, err)
		}
	}
	if err := sim.CheckJitter(average, maximum); err != nil {
		d := c.Bed.Spec.Device.Simulated
		return nil, nil, fmt.Errorf("device.simulated.jitterAverageByLoad: ConfigMap %s, key %s: %w", d.JitterAverageByLoad.ConfigMapRef.Name, d.JitterAverageByLoad.ConfigMapRef.Key, err)
	}
	return average, maximum, nil
}
