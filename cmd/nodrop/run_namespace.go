package main

import (
	"context"
	"fmt"
	"os"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/hint"
	"nodrop.dev/nodrop/internal/plan"
)

// isolate moves this process into a network namespace of its own, which executes
// the program anew, and makes the device there, or takes the interfaces that are cabled
// to it. It returns the ports with their interfaces. Does says what the engine does that
// only root may.
func (b *bench) isolate(does string, o benchOptions) ([]plan.Port, error) {
	spec := b.config.Bed.Spec.Device
	if names := b.config.Benchmark.Spec.Variants; len(names) > 0 {
		return nil, hint.With(fmt.Errorf("spec.variants of Benchmark %s names %s, and without a cluster a Linux router or bridge stands in for the device, which has no variants", b.config.Benchmark.Name, names[0]),
			"apply the manifests to the cluster, leave spec.variants out, or choose a bed with the engine sim")
	}
	if os.Geteuid() != 0 {
		return nil, hint.With(fmt.Errorf("the engine %s %s, which only root may", b.config.Bed.Spec.Engine.Kind, does),
			"sudo nodrop run ...; a bed with the engine sim needs no root")
	}
	cabled := device.Of(spec).Cabled
	if o.inPlace && !cabled {
		return nil, hint.With(fmt.Errorf("--in-place is for the interfaces of a physical device, and TestBed %s has none", b.config.Bed.Name),
			"leave --in-place out")
	}
	ports, errs := plan.Ports(&b.config.Bed)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if cabled && o.inPlace {
		return ports, b.useInterfaces(ports, o)
	}
	origin, err := dut.Isolate()
	if err != nil {
		return nil, err
	}
	defer origin.Close()
	if cabled {
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

// makeDevice makes what the tester's ports are cabled to. Interfaces are named
// like the bed's ports.
func (b *bench) makeDevice(spec v1alpha1.Device) error {
	ports := b.config.Bed.Spec.Ports
	if device.Of(spec).Absent {
		cables, err := newCables(ports)
		if err != nil {
			return err
		}
		b.device = "none: the ports are the ends of veth pairs"
		b.closers = append(b.closers, cables.close)
		if spec.BackToBack.JoinedBy == v1alpha1.JoinedByCables {
			b.config.Bed.Spec.Device.BackToBack = &v1alpha1.BackToBackDevice{JoinedBy: v1alpha1.JoinedByLoops}
			b.notes = append(b.notes, "this run had no cluster: the ports were the ends of veth pairs, in place of the cables of the bed")
		}
		return nil
	}
	substitute := dut.NewNetns(ports)
	if err := b.start(substitute); err != nil {
		return err
	}
	b.device = substitute.Describe()
	if lab := spec.Containerlab; lab != nil {
		ref := lab.Topology.ConfigMapRef
		place := fmt.Sprintf(", in place of node %s of the containerlab topology %s/%s", lab.Node, ref.Name, ref.Key)
		b.device += place
		b.notes = append(b.notes, fmt.Sprintf("this run had no cluster: the device was a %s%s; "+
			"its figures are not those of the device in the topology", substitute.Describe(), place))
	}
	return nil
}

// start brings a device up, and restores what was when the bench is closed.
func (b *bench) start(d device.Driver) error {
	ctx := context.Background()
	if err := d.Prepare(ctx); err != nil {
		return err
	}
	b.driver = d
	b.closers = append(b.closers, func() error { return d.Restore(ctx) })
	return d.Configure(ctx)
}
