package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
	"nodrop.dev/nodrop/internal/dut/configure/scale"
	"nodrop.dev/nodrop/internal/dut/device/parameters"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// configureWithin bounds the time in which a device gets the configuration of a variant.
const configureWithin = 150 * time.Second

// ErrNotRestored is wrapped by the error of Close if the device may not have its base configuration.
var ErrNotRestored = errors.New("the device may not have its base configuration")

// managed is a device that this process configures.
type managed struct {
	platform *platform.Platform
	driver   configure.Driver
	// wanted are its configurations by variant, and its base without a name.
	wanted map[v1alpha1.VariantName]configure.Configuration
}

// manages reads how a device is reached; nil where people configure it. It fails before anything is
// changed on this machine.
func (b *Bench) manages(bundle *manifest.Bundle, o Routing) (*managed, error) {
	bed := &bundle.Bed
	described := bed.Spec.Device.Management()
	if described == nil {
		return nil, nil
	}
	kind, err := platform.Named(described.Platform())
	if err != nil {
		return nil, fmt.Errorf("TestBed %s: spec.device.physical.management: %w", bed.Name, err)
	}
	m := &managed{platform: kind, wanted: map[v1alpha1.VariantName]configure.Configuration{}}
	err = o.withSecret(bed.Name, described.SecretName, kind.Keys, func(read func(key string) ([]byte, error)) (err error) {
		m.driver, err = kind.Driver(configure.Reach{Address: described.Address(), Key: read, Dial: b.dialLater})
		return err
	})
	if err != nil {
		return nil, err
	}
	if resets := bed.Spec.Device.Resets(); len(resets) > 0 {
		b.Resets = configure.NewResets(m.driver, resets)
	}
	for variant, text := range bundle.Configurations {
		if text, err = parameters.Fill(text, &bed.Spec.Device, variant, bundle.Benchmark.Spec.DeviceParameters); err != nil {
			return nil, fmt.Errorf("TestBed %s: %w", bed.Name, err)
		}
		if m.wanted[variant], err = configure.Whole(kind.Language, text); err != nil {
			return nil, fmt.Errorf("TestBed %s, variant %q: the configuration: %w", bed.Name, variant, err)
		}
	}
	return m, nil
}

// withSecret calls f with a function that reads the keys of what would be a Secret in a cluster.
func (o *Routing) withSecret(bed, name, keys string, f func(read func(key string) ([]byte, error)) error) error {
	where := fmt.Sprintf("write %s to DIR/%s/, and give --secrets DIR or $%s", keys, name, SecretsEnv)
	if o.Secrets == "" {
		return hint.With(fmt.Errorf("TestBed %s: what Secret %s has is not known without a cluster", bed, name), where)
	}
	root, err := os.OpenRoot(o.Secrets)
	if err != nil {
		return fmt.Errorf("opening the directory with passwords: %w", err)
	}
	defer root.Close()
	if err := f(func(key string) ([]byte, error) { return root.ReadFile(filepath.Join(name, key)) }); err != nil {
		return hint.With(fmt.Errorf("what Secret %s has: %w", name, err), where)
	}
	return nil
}

// apply gives the device a configuration.
func (m *managed) apply(ctx context.Context, variant v1alpha1.VariantName, within time.Duration) (*configure.Record, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%s are over", within))
	defer cancel()
	return configure.Apply(ctx, m.driver, m.wanted[variant], 0)
}

// completeVariants makes the variants of the benchmark of the one that was prepared once, and completes each.
func (b *Bench) completeVariants(complete func(*runner.Prepared)) {
	once := b.Variants[0]
	b.Variants = nil
	for _, name := range b.config.Benchmark.Spec.VariantsInOrder() {
		one := once
		one.Config.Variant = name
		complete(&one)
		b.Variants = append(b.Variants, one)
	}
}

// configures makes each variant of the benchmark, which was prepared once, one that configures the device
// first. When the bench is closed the device gets its base, whatever it has then.
func (m *managed) configures(b *Bench) {
	if m == nil {
		return
	}
	begun := false
	b.completeVariants(func(one *runner.Prepared) {
		variant := one.Config.Variant
		one.Configure = func(ctx context.Context) (*v1alpha1.DeviceConfiguration, error) {
			begun = true
			record, err := m.apply(ctx, variant, configureWithin)
			if err != nil {
				return nil, err
			}
			return record.Summary(m.platform.Language, m.wanted[""]), nil
		}
		if described := b.config.Bed.Spec.Device.Scales(); len(described) > 0 {
			one.Scaler = scale.New(m.driver, m.platform.Name, m.wanted[variant], described)
		}
		one.Restore = func(ctx context.Context) (bool, error) { return configure.Restore(ctx, m.driver, m.wanted[variant]) }
	})
	b.closers = append(b.closers, func() error {
		if !begun {
			return nil
		}
		if _, err := m.apply(context.Background(), "", configure.RestoreWithin); err != nil {
			return hint.With(fmt.Errorf("%w: %w", ErrNotRestored, err), "nodrop configure apply, with the base, restores it at any time")
		}
		return nil
	})
}
