package groundtruth

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/traffic/xdp"
	"nodrop.dev/nodrop/internal/workload"
	"nodrop.dev/nodrop/internal/workload/kernelstack"
)

// hostsBed is a device of the kernel, a tester with the engine xdp, and hosts on its ports.
type hostsBed struct {
	*testing.T
	config runner.Config
	device *dut.Netns
	engine *xdp.Engine
	hosts  *kernelstack.Engine
}

// newHostsBed makes a bed of two ports in network namespaces. Change adapts its ports.
func newHostsBed(t *testing.T, test v1alpha1.Test, size int32, change func(i int, port *v1alpha1.Port)) *hostsBed {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	tester, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tester.Close() })
	p := &pair{test: test}
	p.device.Ports, p.device.Size = 2, size
	b := &hostsBed{T: t, config: p.config()}
	for i := range b.config.Bed.Spec.Ports {
		change(i, &b.config.Bed.Spec.Ports[i])
	}
	if err := manifest.Default(&b.config.Benchmark, &b.config.Profile, &b.config.Bed); err != nil {
		t.Fatal(err)
	}
	b.device = dut.NewNetns(b.config.Bed.Spec.Ports)
	if err := b.device.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.device.Restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	b.open()
	return b
}

// open opens engine and hosts.
func (b *hostsBed) open() {
	b.Helper()
	ports, errs := plan.Ports(&b.config.Bed)
	if len(errs) > 0 {
		b.Fatal(errs.ToAggregate())
	}
	options := xdp.Options{Host: "here"}
	var own []workload.Port
	for _, port := range ports {
		options.Ports = append(options.Ports, xdp.Port{
			Name: port.Name, Interface: port.Interface, SpeedBitsPerSecond: port.BitsPerSecond, Addresses: port.HostAddresses(&b.config.Profile),
		})
		address, _ := port.Address(false)
		own = append(own, workload.Port{Name: port.Name, Interface: port.Interface, Address: address, Gateway: port.Gateway(false)})
	}
	var err error
	if b.engine, err = xdp.New(options); err != nil {
		b.Fatal(err)
	}
	if b.hosts, err = kernelstack.New(own); err != nil {
		b.Fatal(errors.Join(err, b.engine.Close()))
	}
	b.Cleanup(func() {
		if err := errors.Join(b.hosts.Close(), b.engine.Close()); err != nil {
			b.Error(err)
		}
	})
}
