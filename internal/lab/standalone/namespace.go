package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
)

// isolate moves this process into a network namespace of its own, which executes
// the program anew, and makes the device there, or takes the interfaces that are cabled
// to it. It returns the ports with their interfaces. Does says what the engine does that
// only root may.
func (b *Bench) isolate(does string, o Options) ([]plan.Port, error) {
	spec := b.config.Bed.Spec.Device
	if c := spec.NodeConfiguration(); c != nil {
		return nil, hint.With(fmt.Errorf("spec.device.containerlab.configuration of TestBed %s is %s/%s, and without a cluster a Linux router or bridge takes the place of the node, which gets no configuration",
			b.config.Bed.Name, c.ConfigMapRef.Name, c.ConfigMapRef.Key),
			"apply the manifests to the cluster, or leave spec.device.containerlab.configuration out of the bed and its variants, and measure the router")
	}
	if names := b.config.Benchmark.Spec.Variants; len(names) > 0 && spec.Management() == nil && spec.Machine == nil {
		return nil, hint.With(fmt.Errorf("spec.variants of Benchmark %s names %s, and without a cluster a Linux router or bridge takes the place of the device, which has no variants", b.config.Benchmark.Name, names[0]),
			"apply the manifests to the cluster, leave spec.variants out, or choose a bed with the engine sim")
	}
	if image := b.config.Benchmark.Spec.DeviceImage; image != "" {
		return nil, hint.With(fmt.Errorf("spec.deviceImage of Benchmark %s is %s, and without a cluster a Linux router or bridge takes the place of the device, which has no image", b.config.Benchmark.Name, image),
			"apply the manifests to the cluster, or leave spec.deviceImage out")
	}
	if os.Geteuid() != 0 {
		return nil, hint.With(fmt.Errorf("the engine %s %s, which only root may", b.config.Bed.Spec.Engine.Kind, does),
			"sudo nodrop run ...; a bed with the engine sim needs no root")
	}
	if o.InPlace && !cabled(spec) {
		return nil, hint.With(fmt.Errorf("--in-place is for the interfaces of a physical device, and TestBed %s has none", b.config.Bed.Name),
			"leave --in-place out")
	}
	ports, errs := plan.Ports(&b.config.Bed)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if o.InPlace && !onCards(&b.config.Bed) {
		return ports, errors.Join(o.hide(), b.useInterfaces(ports, o))
	}
	origin, err := dut.Isolate()
	if err != nil {
		return nil, err
	}
	defer origin.Close()
	if err := o.hide(); err != nil {
		return nil, err
	}
	if b.Dial, err = outside(origin); err != nil {
		return nil, err
	}
	if onCards(&b.config.Bed) {
		return ports, nil // The kernel has no interfaces of these cards.
	}
	if cabled(spec) {
		return ports, b.moveInterfaces(origin, ports, o)
	}
	if err := o.cleanFirst(); err != nil {
		return nil, err
	}
	for i := range ports {
		ports[i].Interface = ports[i].Name
	}
	return ports, b.makeDevice(spec)
}

// hide keeps environment variables from the programs that this one starts.
func (o Options) hide() error {
	var errs []error
	for _, name := range o.Hidden {
		errs = append(errs, os.Unsetenv(name))
	}
	return errors.Join(errs...)
}

// dialTimeout bounds the time to connect to a database.
const dialTimeout = 10 * time.Second

// outside connects from the network namespace that a handle is of. The handle is kept.
func outside(ns netns.NsHandle) (sink.Dial, error) {
	fd, err := unix.FcntlInt(uintptr(ns), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping the network namespace of the machine: %w", err)
	}
	kept := netns.NsHandle(fd)
	// Without the fallback delay a dialer makes its sockets in the calling goroutine.
	dialer := net.Dialer{FallbackDelay: -1, Timeout: dialTimeout}
	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = netif.In(kept, func() (err error) {
			conn, err = dialer.DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}
	// Names are asked for from there, too: by goroutines of the resolver.
	plain := net.Dialer{FallbackDelay: -1, Timeout: dialTimeout}
	dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		err = netif.In(kept, func() (err error) {
			conn, err = plain.DialContext(ctx, network, address)
			return err
		})
		return conn, err
	}}
	return dial, nil
}

// cabled reports whether the ports of a device are interfaces of this machine. They are also
// where the cables of a device are joined, which measures them and the interfaces.
func cabled(d v1alpha1.Device) bool {
	return device.Of(d).Cabled || d.BackToBack != nil && d.BackToBack.JoinedBy == v1alpha1.JoinedByCables
}

// substituted are ports with veths in place of the interfaces that the bed names, so that
// no calibration of the ones counts for the others.
func substituted(ports []v1alpha1.Port) []v1alpha1.Port {
	ports = slices.Clone(ports)
	for i, p := range ports {
		ports[i].Attachment = &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: "veth " + p.Name}}
	}
	return ports
}

// makeDevice makes what the tester's ports are cabled to. Interfaces are named
// like the bed's ports.
func (b *Bench) makeDevice(spec v1alpha1.Device) error {
	ports := b.config.Bed.Spec.Ports
	b.config.Bed.Spec.Ports = substituted(ports)
	if device.Of(spec).Absent {
		cables, err := newCables(ports)
		if err != nil {
			return err
		}
		b.Device = "none: the ports are the ends of veth pairs"
		b.closers = append(b.closers, cables.close)
		return nil
	}
	if b.machine != nil {
		return b.startMachine()
	}
	substitute := dut.NewNetns(ports)
	if err := b.start(substitute); err != nil {
		return err
	}
	b.Device = substitute.Describe()
	if lab := spec.Containerlab; lab != nil {
		ref := lab.Topology.ConfigMapRef
		place := fmt.Sprintf(", in place of node %s of the containerlab topology %s/%s", lab.Node, ref.Name, ref.Key)
		b.Device += place
		b.Notes = append(b.Notes, fmt.Sprintf("this run had no cluster: the device was a %s%s; "+
			"its figures are not those of the device in the topology", substitute.Describe(), place))
	}
	return nil
}

// start brings a device up, and restores what was when the bench is closed.
func (b *Bench) start(d device.Driver) error {
	ctx := context.Background()
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	b.driver = d
	b.closers = append(b.closers, func() error { return d.Restore(ctx) })
	return d.Configure(ctx)
}
