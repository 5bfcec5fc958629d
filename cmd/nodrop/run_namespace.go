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
// the program anew, and makes the device there. Interfaces of the tester's ends are
// named like the ports that it returns. Does says what the engine does that only
// root may.
func (b *bench) isolate(does string) ([]plan.Port, error) {
	spec := b.config.Bed.Spec.Device
	if device.Of(spec).Cabled {
		return nil, hint.With(fmt.Errorf("TestBed %s has a physical device, whose ports belong to the nodes of a cluster", b.config.Bed.Name),
			"apply the manifests to the cluster, or choose a bed with a device of containerlab, simulated or backToBack")
	}
	if names := b.config.Benchmark.Spec.Variants; len(names) > 0 {
		return nil, hint.With(fmt.Errorf("spec.variants of Benchmark %s names %s, and without a cluster a Linux router or bridge stands in for the device, which has no variants", b.config.Benchmark.Name, names[0]),
			"apply the manifests to the cluster, leave spec.variants out, or choose a bed with the engine sim")
	}
	if os.Geteuid() != 0 {
		return nil, hint.With(fmt.Errorf("the engine %s %s, which only root may", b.config.Bed.Spec.Engine.Kind, does),
			"sudo nodrop run ...; a bed with the engine sim needs no root")
	}
	if err := dut.Isolate(); err != nil {
		return nil, err
	}
	ports, errs := plan.Ports(&b.config.Bed)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
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
