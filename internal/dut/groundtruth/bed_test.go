package groundtruth

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/measure/truth"
	"nodrop.dev/nodrop/internal/traffic/xdp"
)

// speed of the ports: its line rate is below what two processors send and forward.
var speed = truth.Speed{Name: "100M", BitsPerSecond: 1e8}

// pair is a device of the kernel and a tester, with a test.
type pair struct {
	test v1alpha1.Test
	// before are tests whose results the test needs.
	before []v1alpha1.Test
	device truth.Device
	// pattern of the profile; pairs of ports in one direction without it.
	pattern *v1alpha1.Pattern
	// commands configure the device, in its network namespace.
	commands []string
	// prepare configures the device where no command does; it may be nil.
	prepare func(m *measurement)
	// during runs next to the measurement, in the tester's namespace; nil for nothing.
	during func(ctx context.Context, m *measurement)
	// claims of the rows of the method.
	claims func(row *v1alpha1.ResultRow) []truth.Claim
	// wakes reports whether the claims are about times that end when the kernel of the device wakes.
	wakes bool
	// fault describes the fault of the tester; empty for none.
	fault string
}

// measurement is a pair that is being measured.
type measurement struct {
	*testing.T
	tester, device netns.NsHandle
	// processors that the device does not work on.
	processors []int
	// asked gets what the run asks for, such as to reset the device.
	asked chan string
}

// command runs a command in a network namespace.
func (m *measurement) command(ctx context.Context, ns netns.NsHandle, line string) error {
	return netif.In(ns, func() error {
		fields := strings.Fields(line)
		out, err := exec.CommandContext(ctx, fields[0], fields[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
		return nil
	})
}

// config returns the configuration of a run on a bridge.
func (p *pair) config() runner.Config {
	var cfg runner.Config
	cfg.Bed.Name, cfg.Benchmark.Name, cfg.Benchmark.UID = "truth", "truth", "1"
	cfg.Bed.Spec.Device.Containerlab = &v1alpha1.ContainerlabDevice{Node: "dut"}
	cfg.Bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	for i := range p.device.Ports {
		name := fmt.Sprintf("p%d", i+1)
		cfg.Bed.Spec.Ports = append(cfg.Bed.Spec.Ports, v1alpha1.Port{
			Name: name, Node: "here", Speed: speed.Name, Addresses: []string{fmt.Sprintf("198.18.0.%d/24", i+2)},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: name}},
		})
	}
	oneWay := false
	cfg.Profile.Spec = v1alpha1.TrafficProfileSpec{
		FrameSizes: []int32{p.device.Size}, Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}},
		Pattern: v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{Bidirectional: &oneWay}},
	}
	if p.pattern != nil {
		cfg.Profile.Spec.Pattern = *p.pattern
	}
	cfg.Benchmark.Spec.SettleTime.Duration = settle
	cfg.Benchmark.Spec.RestTime = new(lasting(rest))
	cfg.Benchmark.Spec.Tests = append(p.before, p.test)
	return cfg
}

// measure makes device and tester in network namespaces, and runs the test.
func (p *pair) measure(t *testing.T) runner.State {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the test
	home, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	tester, err := netns.New() // and enters it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tester.Close(); home.Close() })
	cfg := p.config()
	if err := manifest.Default(&cfg.Benchmark, &cfg.Profile, &cfg.Bed); err != nil {
		t.Fatal(err)
	}
	device := dut.NewNetns(cfg.Bed.Spec.Ports)
	if err := device.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := device.Restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	m := &measurement{T: t, tester: tester, device: device.Namespace(), asked: make(chan string, 16)}
	for _, line := range p.commands {
		if err := m.command(t.Context(), m.device, line); err != nil {
			t.Fatal(err)
		}
	}
	if p.prepare != nil {
		p.prepare(m)
	}
	ports, errs := plan.Ports(&cfg.Bed)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	options := xdp.Options{Host: "here"}
	for _, port := range ports {
		options.Ports = append(options.Ports, xdp.Port{
			Name: port.Name, Interface: port.Interface, SpeedBitsPerSecond: port.BitsPerSecond, Addresses: port.HostAddresses(&cfg.Profile),
		})
	}
	placed := device.Place()
	options.DeviceProcessors, options.Together = placed.Device, placed.Together
	for n := range runtime.NumCPU() {
		if !slices.Contains(placed.Device, n) {
			m.processors = append(m.processors, n)
		}
	}
	worksOn := placed.Device
	if placed.Together != "" {
		worksOn = m.processors
	}
	engine, err := xdp.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var around sync.WaitGroup
	around.Go(func() {
		if p.during != nil {
			p.during(ctx, m)
		}
	})
	if p.wakes {
		claims := p.claims
		around.Go(func() { p.claims = waking(longestWake(ctx, t, worksOn), claims) })
	}
	state := runner.Run(t.Context(), cfg, engine, runner.WithDevice(device), runner.WithEvents(m.event))
	stop()
	around.Wait()
	return state
}
