package standalone

import (
	"errors"
	"fmt"
	"os"

	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp"
)

// openXDP opens the engine xdp on the tester's ends of a device in a network
// namespace, or on the interfaces that are cabled to a physical one.
func (b *Bench) openXDP(o Options) error {
	if err := routesGroups(&b.config.Profile, &b.config.Bed); err != nil {
		return err
	}
	sessions, err := newSessions(&b.config.Bed, o.Routing)
	if err != nil {
		return err
	}
	ports, err := b.isolate("makes network namespaces and loads BPF programs", o)
	if err != nil {
		return err
	}
	options := xdp.Options{}
	if c := b.config.Benchmark.Spec.Capture; c != nil {
		options.Capture = traffic.Capture{Frames: int(c.Frames), Bytes: int(c.BytesPerFrame)}
	}
	options.Host, _ = os.Hostname()
	for _, p := range ports {
		options.Ports = append(options.Ports, xdp.Port{
			Name: p.Name, Interface: p.Interface, SpeedBitsPerSecond: p.BitsPerSecond,
			Addresses: p.HostAddresses(&b.config.Profile), VLANs: p.VLANsUnder(&b.config.Profile),
			Transmit: xdp.Transmit(b.config.Bed.Spec.Engine.TransmitPath()),
			Senders:  b.config.Bed.Spec.Engine.SendersPerPort(),
		})
	}
	if placed, ok := b.driver.(device.Placed); ok {
		p := placed.Place()
		options.DeviceProcessors, options.Together = p.Device, p.Together
		if p.Preferred {
			b.Notes = append(b.Notes, fmt.Sprintf("on processors %s, those of the device, the kernel's soft interrupts came before all processes", traffic.CPUList(p.Device)))
		}
	}
	engine, err := xdp.New(options)
	if err != nil {
		return fmt.Errorf("opening the engine xdp: %w", err)
	}
	if err := sessions.open(b, ports); err != nil {
		return errors.Join(err, engine.Close())
	}
	if err := b.openWorkload(ports); err != nil {
		return errors.Join(err, engine.Close())
	}
	b.prepared(b.config, engine, b.driver)
	return nil
}
