package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/vishvananda/netns"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/hostdevice"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/dut/machine"
	router "nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// moveInterfaces moves the interfaces of a physical device into this process's own
// network namespace, and puts them back when the bench is closed.
func (b *Bench) moveInterfaces(origin netns.NsHandle, ports []plan.Port, o Options) error {
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("looking at the own network namespace: %w", err)
	}
	defer here.Close()
	return b.takeInterfaces(origin, here, ports, o)
}

// useInterfaces uses the interfaces of a physical device where they are, and gives them
// their state back when the bench is closed.
func (b *Bench) useInterfaces(ports []plan.Port, o Options) error {
	if kind := b.config.Bed.Spec.Engine.Kind; kind != v1alpha1.EngineXDP {
		return hint.With(fmt.Errorf("--in-place is for the engine xdp, and TestBed %s has the engine %s, whose server must not be reached from the network of this machine", b.config.Bed.Name, kind),
			"leave --in-place out")
	}
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("looking at the own network namespace: %w", err)
	}
	defer here.Close()
	return b.takeInterfaces(here, netns.None(), ports, o)
}

func (b *Bench) takeInterfaces(from, to netns.NsHandle, ports []plan.Port, o Options) error {
	if problems := unusable(&b.config.Bed); len(problems) > 0 {
		return &hostdevice.RefusedError{Problems: problems}
	}
	if err := o.cleanFirst(); err != nil {
		return err
	}
	store, err := hostdevice.NewStore(o.StateDir)
	if err != nil {
		return err
	}
	request := hostdevice.Request{Benchmark: b.config.Benchmark.Name, Origin: from, To: to}
	for i, p := range ports {
		request.Ports = append(request.Ports, hostdevice.Port{
			Name: p.Name, Path: attachmentPath(&b.config.Bed, i).Child("hostDevice", "interface"),
			Interface: p.Interface, Adds: p.HostAddresses(&b.config.Profile),
		})
	}
	// From here on an interruption must not end the process before all is back.
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	b.Interrupted, _ = signal.NotifyContext(context.Background(), signals...)
	taken, err := store.Take(request)
	if err != nil {
		return err
	}
	b.closers = append(b.closers, taken.PutBack)
	b.Hurry = func() {
		again := make(chan os.Signal, 1)
		signal.Notify(again, signals...)
		go func() {
			<-again
			if err := taken.PutBack(); err != nil {
				os.Exit(exit.Explain(os.Stderr, "nodrop", err))
			}
			os.Exit(exit.Aborted)
		}()
	}
	return nil
}

// unusable returns an error for each port of a bed that is not an interface of one machine.
func unusable(bed *v1alpha1.TestBed) (problems field.ErrorList) {
	for i, p := range bed.Spec.Ports {
		if p.Attachment == nil || p.Attachment.HostDevice == nil {
			problems = append(problems, field.Invalid(attachmentPath(bed, i), kindOf(p.Attachment),
				"a run without a cluster has no device plugins and no drivers: give hostDevice with the name of an interface of this machine, or apply the manifests to the cluster"))
		}
		if first := bed.Spec.Ports[0].Node; p.Node != first {
			problems = append(problems, field.Invalid(portPath(bed, i).Child("node"), p.Node,
				fmt.Sprintf("a run without a cluster has the interfaces of this machine only, and port %s is on %s: give all ports the same node, or apply the manifests to the cluster", bed.Spec.Ports[0].Name, first)))
		}
	}
	return problems
}

func kindOf(a *v1alpha1.Attachment) string {
	switch {
	case a == nil:
		return ""
	case a.HostDevice != nil:
		return "hostDevice"
	case a.SRIOV != nil:
		return "sriov"
	}
	return "resourceClaim"
}

func portPath(bed *v1alpha1.TestBed, i int) *field.Path {
	return field.NewPath("TestBed/"+bed.Name).Child("spec", "ports").Index(i)
}

func attachmentPath(bed *v1alpha1.TestBed, i int) *field.Path {
	return portPath(bed, i).Child("attachment")
}

// cleanFirst puts back what runs that were killed have left, and says so. What cannot be
// put back does not stop a run on other interfaces.
func (o *Options) cleanFirst() error {
	store, err := hostdevice.NewStore(o.StateDir)
	if err != nil {
		return err
	}
	if _, _, err := CleanUp(os.Stderr, store); err != nil {
		exit.Explain(os.Stderr, "nodrop", fmt.Errorf("cleaning up after a run that was killed: %w", err))
	}
	return nil
}

// CleanUp puts back what runs that were killed have left: interfaces, of which the store has notes, routers, emulated machines, and
// priorities of threads. It says so, and reports whether there was anything, and the number of runs that go on.
func CleanUp(w io.Writer, store *hostdevice.Store) (found bool, living int, _ error) {
	done, living, err := store.Clean()
	sayPutBack(w, done)
	routers, cleaning := router.Clean(router.Dir)
	sayRoutersGone(w, routers)
	machines, removing := machine.Clean()
	sayMachinesGone(w, machines)
	threads, restoring := processors.RestoreSoftInterrupts(processors.NotesDir)
	sayPrioritiesRestored(w, threads)
	return len(done)+routers+machines+len(threads) > 0, living, errors.Join(err, cleaning, removing, restoring)
}

// sayPutBack writes a line for each interface that is back.
func sayPutBack(w io.Writer, all []hostdevice.PutBack) {
	for _, p := range all {
		what := "was as it should be"
		switch {
		case p.Gone:
			what = "does not exist any more, and was not put back"
		case len(p.Changes) > 0:
			what = "is back: " + strings.Join(p.Changes, ", ")
		}
		for _, text := range p.Failed {
			what += "; not put back: " + text
		}
		fmt.Fprintf(w, "interface %s, which benchmark %s had when its process %d was killed, %s\n", p.Interface, p.Benchmark, p.PID, what)
	}
}

// sayRoutersGone writes how many routers are gone that runs have left.
func sayRoutersGone(w io.Writer, routers int) {
	if routers > 0 {
		fmt.Fprintf(w, "routers that runs have left when they were killed, and that are gone: %d\n", routers)
	}
}

// sayMachinesGone writes how many emulated machines are gone that runs have left.
func sayMachinesGone(w io.Writer, machines int) {
	if machines > 0 {
		fmt.Fprintf(w, "emulated machines that runs have left when they were killed, and that are gone: %d\n", machines)
	}
}

// sayPrioritiesRestored writes which threads of the kernel have their priority again.
func sayPrioritiesRestored(w io.Writer, threads []string) {
	if len(threads) > 0 {
		fmt.Fprintf(w, "threads of the kernel whose priority runs that were killed had raised, and that have it back: %s\n", strings.Join(threads, ", "))
	}
}

// Refused are the fields that an interface was refused for, if err says so.
func Refused(err error) field.ErrorList {
	if r := (*hostdevice.RefusedError)(nil); errors.As(err, &r) {
		return r.Problems
	}
	return nil
}
