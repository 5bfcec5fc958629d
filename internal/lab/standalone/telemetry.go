package standalone

import (
	"context"
	"fmt"
	"net"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/readers"
)

// watches has the device read while it is measured, if its bed says how. It fails before anything is changed on this machine.
func (b *Bench) watches(bed *v1alpha1.TestBed, o Routing) error {
	if err := b.metersPower(bed, o); err != nil {
		return err
	}
	described := bed.Spec.Device.Telemetry()
	if described == nil {
		return nil
	}
	var reader telemetry.Reader
	err := o.withSecret(bed.Name, described.SecretName, readers.Keys(described), func(read func(key string) ([]byte, error)) (err error) {
		reader, err = readers.New(described, read, b.dialLater)
		return err
	})
	if err != nil {
		return err
	}
	b.Telemetry = telemetry.NewWatch(reader, described)
	b.closers = append(b.closers, func() error {
		b.Telemetry.Close()
		return nil
	})
	return nil
}

// metersPower has the power of the device read, if its bed has a meter.
func (b *Bench) metersPower(bed *v1alpha1.TestBed, o Routing) error {
	described := bed.Spec.Device.Power()
	if described == nil {
		return nil
	}
	var meter telemetry.Meter
	var power telemetry.PowerSwitch
	err := o.withSecret(bed.Name, described.SecretName, readers.MeterKeys, func(read func(key string) ([]byte, error)) (err error) {
		if meter, err = readers.NewMeter(described, read, b.dialLater); err == nil {
			power, err = readers.NewSwitch(described, read, b.dialLater)
		}
		return err
	})
	if err != nil {
		return err
	}
	if power != nil {
		b.PowerSwitch = power
		b.closers = append(b.closers, func() error {
			power.Close()
			return nil
		})
	}
	b.Power = telemetry.NewPowerWatch(meter, described)
	b.closers = append(b.closers, func() error {
		b.Power.Close()
		return nil
	})
	return nil
}

// onWithin bounds the time in which the power of a device is turned on before a run.
const onWithin = 10 * time.Second

// turnPowerOn turns the power of the device on, if NoDrop may take it away: a run that was killed may have left it off.
func (b *Bench) turnPowerOn() error {
	if b.PowerSwitch == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), onWithin)
	defer cancel()
	if err := b.PowerSwitch.On(ctx); err != nil {
		return fmt.Errorf("TestBed %s: turning the power of the device on: %w", b.config.Bed.Name, err)
	}
	return nil
}

// dialLater connects from the network of this machine, also when the process has moved to another one meanwhile.
func (b *Bench) dialLater(ctx context.Context, network, address string) (net.Conn, error) {
	if b.Dial != nil {
		return b.Dial(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}
