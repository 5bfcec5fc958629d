package method

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

func scaleTest(change func(*v1alpha1.ConfigurationScaleTest)) v1alpha1.Test {
	t := &v1alpha1.ConfigurationScaleTest{Load: "50%", WaitTime: lasting(time.Second), TrialDuration: *lasting(10 * time.Second)}
	if change != nil {
		change(t)
	}
	return v1alpha1.Test{Name: "scale", ConfigurationScale: t}
}

// scaleLab makes a lab for tests on an ideal device with a behavior, and the latency 1 to 3 us.
func scaleLab(t *testing.T, behaviour v1alpha1.SimulatedBehaviour, tests ...v1alpha1.Test) (*trials.Tester, *sim.Engine) {
	t.Helper()
	p, err := planOf(t, tests...)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, ideal, p, sim.WithBehaviour(behaviour))
	tester := open(t, e, p, nil)
	trials.WithScaler(e.Device(), nil)(tester)
	return tester, e
}

// The search finds the entries that the model has, for each reason, and the row has the trial with the largest number without an effect.
func TestConfigurationScale(t *testing.T) {
	const without = int64(1500) // at half of line rate: 1 us and half of the rest
	for name, tc := range map[string]struct {
		behaviour v1alpha1.SimulatedBehaviour
		change    func(*v1alpha1.ConfigurationScaleTest)
		want      v1alpha1.ConfigurationScaleSummary
		message   string
	}{
		"frames are lost": {
			v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(1000))}, nil,
			v1alpha1.ConfigurationScaleSummary{Entries: 1000, FailedEntries: 1001, MinimumEntries: 1, MaximumEntries: 65536, Configurations: 22,
				Effect: v1alpha1.ScaleLosesFrames, FailedLost: 297_324, AddedLatencyNs: new(int64(0)), FailedAddedLatencyNs: new(int64(0))},
			"with 1,001 entries 297,324 of 297,619,044 frames were lost",
		},
		"a resolution": {
			v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(1000))}, func(t *v1alpha1.ConfigurationScaleTest) { t.Minimum, t.Resolution = 100, 100 },
			v1alpha1.ConfigurationScaleSummary{Entries: 1000, FailedEntries: 1100, MinimumEntries: 100, MaximumEntries: 65536, Configurations: 10,
				Effect: v1alpha1.ScaleLosesFrames, FailedLost: 27_056_280, AddedLatencyNs: new(int64(0)), FailedAddedLatencyNs: new(int64(0))},
			"with 1,100 entries 27,056,280 of 297,619,044 frames were lost",
		},
		"latency": {
			v1alpha1.SimulatedBehaviour{AccessListLatency: lasting(10 * time.Nanosecond)}, func(t *v1alpha1.ConfigurationScaleTest) { t.MaxAddedLatency = lasting(3 * time.Microsecond) },
			v1alpha1.ConfigurationScaleSummary{Entries: 300, FailedEntries: 301, MinimumEntries: 1, MaximumEntries: 65536, Configurations: 20,
				Effect: v1alpha1.ScaleAddsLatency, AddedLatencyNs: new(int64(3000)), FailedAddedLatencyNs: new(int64(3010))},
			"with 301 entries the mean latency is 3.010 us higher than without the list",
		},
		"latency that does not matter": {
			v1alpha1.SimulatedBehaviour{AccessListLatency: lasting(10 * time.Nanosecond)}, func(t *v1alpha1.ConfigurationScaleTest) { t.Maximum = 500 },
			v1alpha1.ConfigurationScaleSummary{Entries: 500, MinimumEntries: 1, MaximumEntries: 500, Configurations: 11, AddedLatencyNs: new(int64(5000))},
			"500 entries, the highest number, had no effect: the device may hold more",
		},
		"rejected": {
			v1alpha1.SimulatedBehaviour{AccessListLimit: new(int64(300)), AccessListCapacity: new(int64(400))}, nil,
			v1alpha1.ConfigurationScaleSummary{Entries: 300, FailedEntries: 301, MinimumEntries: 1, MaximumEntries: 65536, Configurations: 20,
				Effect: v1alpha1.ScaleRejected, DeviceMessage: "the list has 301 entries, and the device holds 300", AddedLatencyNs: new(int64(0))},
			"the device rejected 301 entries: the list has 301 entries, and the device holds 300",
		},
		"the lowest number": {
			v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(0))}, nil,
			v1alpha1.ConfigurationScaleSummary{FailedEntries: 1, MinimumEntries: 1, MaximumEntries: 65536, Configurations: 3,
				Effect: v1alpha1.ScaleLosesFrames, FailedLost: 297_619_044},
			"with 1 entry, the lowest number, 297,619,044 of 297,619,044 frames were lost",
		},
		"too few trials": {
			v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(1000))}, func(t *v1alpha1.ConfigurationScaleTest) { t.MaxTrials = 12 },
			v1alpha1.ConfigurationScaleSummary{Entries: 768, FailedEntries: 1024, MinimumEntries: 1, MaximumEntries: 65536, Configurations: 12, Capped: true,
				Effect: v1alpha1.ScaleLosesFrames, FailedLost: 6_975_448, AddedLatencyNs: new(int64(0)), FailedAddedLatencyNs: new(int64(0))},
			"with 1,024 entries 6,975,448 of 297,619,044 frames were lost; the search ended after 12 configurations: raise maxTrials or resolution",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tester, _ := scaleLab(t, tc.behaviour, scaleTest(tc.change), v1alpha1.Test{Name: "after", Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"50%"}}})
			out := mustRun(t, tester, tester.Plan.Steps[0])
			row := rowOf(tester.Plan, out)
			tc.want.LatencyWithoutNs = new(without)
			if !reflect.DeepEqual(row.ConfigurationScale, &tc.want) || out.Message != tc.message || out.Invalid != "" || out.Limit != nil {
				t.Errorf("%s\n%s\nwant\n%s\n%s", describe(row.ConfigurationScale), out.Message, describe(&tc.want), tc.message)
			}
			if tc.want.Entries > 0 && (row.Frames.Lost != 0 || row.Latency.AvgNs != without+*tc.want.AddedLatencyNs) {
				t.Errorf("the row is not about %d entries: %+v, %+v", tc.want.Entries, row.Frames, row.Latency)
			}
			if after := rowOf(tester.Plan, mustRun(t, tester, tester.Plan.Steps[1])); after.Frames.Lost != 0 || after.Latency.AvgNs != without {
				t.Errorf("the next test has the list: %+v, %+v", after.Frames, after.Latency)
			}
		})
	}
}

// describe writes a summary as results have it.
func describe(s *v1alpha1.ConfigurationScaleSummary) string {
	text, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A list that takes less than the rest of the throughput has no effect at a share of it.
func TestConfigurationScaleAtAShareOfTheThroughput(t *testing.T) {
	throughput := v1alpha1.Test{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{Resolution: "0.0001%", MinLoad: "0.1%"}}
	scale := scaleTest(func(s *v1alpha1.ConfigurationScaleTest) {
		s.Load, s.ThroughputShare, s.Maximum = "throughput", "90%", 100
	})
	p, err := planOf(t, throughput, scale)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, header+"\n64,33.3333,1,2,3\n", p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(40))}))
	tester := open(t, e, p, nil)
	trials.WithScaler(e.Device(), nil)(tester)
	tester.Results.Found[trials.Found{Test: "throughput", Size: plan.Bytes(64)}] = 333_333
	out := mustRun(t, tester, p.Steps[1])
	if row := rowOf(p, out); row.ConfigurationScale == nil || row.ConfigurationScale.Entries != 40 || row.Frames.LineRatePPM != 299_999 || row.Load != "throughput" {
		t.Errorf("%+v, %+v: %s", row.ConfigurationScale, row.Frames, out.Message)
	}
	tester.Results.Found[trials.Found{Test: "throughput", Size: plan.Bytes(64)}] = 0
	if out := mustRun(t, tester, p.Steps[1]); out.Trial != nil || !strings.Contains(out.Message, "found a throughput of 0") {
		t.Errorf("%+v", out)
	}
}

// A device that loses frames without the list shows no effect of it.
func TestConfigurationScaleAboveTheThroughput(t *testing.T) {
	test := scaleTest(nil)
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, header+"\n64,40,1,2,3\n", p)
	tester := open(t, e, p, nil)
	trials.WithScaler(e.Device(), nil)(tester)
	out := mustRun(t, tester, p.Steps[0])
	if row := rowOf(p, out); row.ConfigurationScale != nil || row.Validity != v1alpha1.ValidityInvalid || out.Trials != 1 || !strings.HasSuffix(out.Invalid, "frames were lost at this load without the list, so that no effect of it can be seen: lower load or throughputShare") {
		t.Errorf("%+v, %s: %s", row.ConfigurationScale, row.Validity, out.Invalid)
	}
}

// fakeScaler is a device whose lists fail at the numbers and times that a test gives.
type fakeScaler struct {
	sim.Device
	// asked are the numbers that it was asked for.
	asked []int64
	// rejects reports whether it rejects a number at the n-th time, from 1.
	rejects func(entries int64, time int) bool
	// err of the number fails.
	fails int64
	err   error
}

func (f *fakeScaler) Scale(ctx context.Context, name string, n int64) (string, error) {
	f.asked = append(f.asked, n)
	time := 0
	for _, asked := range f.asked {
		if asked == n {
			time++
		}
	}
	switch {
	case f.err != nil && n == f.fails:
		return "", f.err
	case f.rejects != nil && n > 0 && f.rejects(n, time):
		return "no room", nil
	}
	return f.Device.Scale(ctx, name, n)
}

// A number that has an effect in one trial and none in another is named, and the majority of three trials decides.
func TestConfigurationScaleThatIsNotSteady(t *testing.T) {
	tester, e := scaleLab(t, v1alpha1.SimulatedBehaviour{}, scaleTest(func(s *v1alpha1.ConfigurationScaleTest) { s.Maximum = 64 }))
	device := &fakeScaler{Device: e.Device(), rejects: func(n int64, time int) bool { return n > 40 || n == 40 && time == 2 }}
	trials.WithScaler(device, nil)(tester)
	out := mustRun(t, tester, tester.Plan.Steps[0])
	s := rowOf(tester.Plan, out).ConfigurationScale
	if s == nil || s.Entries != 40 || s.FailedEntries != 41 || !s.Unsteady || s.Effect != v1alpha1.ScaleRejected ||
		out.Message != "the device rejected 41 entries: no room; the boundary is not sharp: the effect of 40 entries differed between trials" {
		t.Errorf("%s: %s", describe(s), out.Message)
	}
	if first, last := device.asked[0], device.asked[len(device.asked)-1]; first != 0 || last != 0 {
		t.Errorf("asked for %v: want no list first and last", device.asked)
	}
}

// A larger number without an effect is named as well.
func TestConfigurationScaleThatIsNotMonotonic(t *testing.T) {
	tester, e := scaleLab(t, v1alpha1.SimulatedBehaviour{}, scaleTest(func(s *v1alpha1.ConfigurationScaleTest) { s.Maximum = 64 }))
	trials.WithScaler(&fakeScaler{Device: e.Device(), rejects: func(n int64, _ int) bool { return n == 8 }}, nil)(tester)
	out := mustRun(t, tester, tester.Plan.Steps[0])
	s := rowOf(tester.Plan, out).ConfigurationScale
	if s == nil || s.Entries != 7 || s.FailedEntries != 8 || !s.Unsteady || !strings.HasSuffix(out.Message, "; 16 entries had no effect, although fewer had") {
		t.Errorf("%s: %s", describe(s), out.Message)
	}
}

// A device that cannot be reached ends the run, and is no device that rejects lists.
func TestConfigurationScaleOfADeviceThatIsAway(t *testing.T) {
	away := errors.New("the device cannot be reached")
	for n, want := range map[int64]string{0: "without the list: ", 16: "giving the device a list of 16 entries: "} {
		tester, e := scaleLab(t, v1alpha1.SimulatedBehaviour{}, scaleTest(nil))
		trials.WithScaler(&fakeScaler{Device: e.Device(), fails: n, err: away}, nil)(tester)
		if _, err := Run(t.Context(), tester, tester.Plan.Steps[0]); !errors.Is(err, away) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		tester.Device.Scaler = nil
		if _, err := Run(t.Context(), tester, tester.Plan.Steps[0]); err == nil || !strings.Contains(err.Error(), "no device that it can give lists") {
			t.Error(err)
		}
	}
}

// The search ends where the tester may have lost the frames.
func TestConfigurationScaleWhereTheTesterIsTheLimit(t *testing.T) {
	test := scaleTest(func(s *v1alpha1.ConfigurationScaleTest) { s.Maximum = 64 })
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, ideal, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(40))}))
	tester := open(t, &droppingTester{e}, p, nil)
	trials.WithScaler(e.Device(), nil)(tester)
	out := mustRun(t, tester, p.Steps[0])
	row := rowOf(p, out)
	if s := row.ConfigurationScale; s == nil || s.Entries != 32 || s.FailedEntries != 0 || !s.Capped || row.Validity != v1alpha1.ValidityGeneratorBound || out.Limit == nil ||
		!strings.Contains(out.Message, "the search ended at 64 entries, with which the tester may be the reason of the loss") {
		t.Errorf("%s, %s: %s", describe(s), row.Validity, out.Message)
	}
}

// A loss while others used the processors of the tester counts, and the row is marked.
func TestConfigurationScaleOnABusyTester(t *testing.T) {
	test := scaleTest(func(s *v1alpha1.ConfigurationScaleTest) { s.Maximum = 64 })
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, ideal, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{AccessListCapacity: new(int64(40))}))
	tester := open(t, &busyTester{e}, p, nil)
	trials.WithScaler(e.Device(), nil)(tester)
	out := mustRun(t, tester, p.Steps[0])
	row := rowOf(p, out)
	if s := row.ConfigurationScale; s == nil || s.Entries != 40 || s.FailedEntries != 41 || s.Capped || row.Frames.Lost > 0 || row.Validity != v1alpha1.ValidityContended {
		t.Errorf("%s, %s: %s", describe(s), row.Validity, out.Message)
	}
}

// busyTester is a tester whose processors others use whenever the device drops frames.
type busyTester struct{ *sim.Engine }

func (b *busyTester) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := b.Engine.Read(ctx)
	for key, rx := range m.Rx {
		if m.Tx[key.Stream].Sent > rx.Received {
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteForeignLoad, Text: "others used a processor of the tester"})
			break
		}
	}
	return m, err
}

// droppingTester is a tester whose port drops frames whenever the device does.
type droppingTester struct{ *sim.Engine }

func (d *droppingTester) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := d.Engine.Read(ctx)
	for key, rx := range m.Rx {
		if lost := m.Tx[key.Stream].Sent - rx.Received; lost > 0 {
			if m.Dropped == nil {
				m.Dropped = map[string]uint64{}
			}
			m.Dropped[key.Port] += lost
		}
	}
	return m, err
}

func TestConfigurationScaleFits(t *testing.T) {
	acl := v1alpha1.DeviceScale{Name: "acl", Range: v1alpha1.ScaleRange{Minimum: 2, Maximum: 4000}}
	nat := v1alpha1.DeviceScale{Name: "long", Range: v1alpha1.ScaleRange{Minimum: 100, Maximum: 200}}
	const allowed = "test bed leaf allows 2 to 4000 entries: give such a number, or leave "
	for name, tc := range map[string]struct {
		described []v1alpha1.DeviceScale
		simulated bool
		change    func(*v1alpha1.ConfigurationScaleTest)
		want      string
	}{
		"the only list":         {described: []v1alpha1.DeviceScale{acl}},
		"by its name":           {described: []v1alpha1.DeviceScale{acl, nat}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Name = "long" }},
		"within the range":      {described: []v1alpha1.DeviceScale{acl}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Minimum, s.Maximum = 2, 4000 }},
		"simulated":             {simulated: true},
		"no lists":              {want: "configurationScale: Forbidden: NoDrop cannot give the device of test bed leaf lists: its owner has to describe them in device.physical.management.ssh.scales"},
		"one of two":            {described: []v1alpha1.DeviceScale{acl, nat}, want: `configurationScale.name: Invalid value: "": name is missing, and the bed describes the lists acl, long: choose one of these`},
		"an unknown list":       {described: []v1alpha1.DeviceScale{acl}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Name = "nat" }, want: `configurationScale.name: Invalid value: "nat": the bed describes the lists acl: choose one of these`},
		"a name of none":        {simulated: true, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Name = "nat" }, want: `configurationScale.name: Invalid value: "nat": the bed describes no lists: leave name out`},
		"below the range":       {described: []v1alpha1.DeviceScale{acl}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Minimum = 1 }, want: `configurationScale.minimum: Invalid value: 1: ` + allowed + "minimum out"},
		"above the range":       {described: []v1alpha1.DeviceScale{acl}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Maximum = 4001 }, want: `configurationScale.maximum: Invalid value: 4001: ` + allowed + "maximum out"},
		"below the bed's":       {described: []v1alpha1.DeviceScale{nat}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Maximum = 50 }, want: `configurationScale.maximum: Invalid value: 50: test bed leaf allows 100 to 200 entries`},
		"no range":              {described: []v1alpha1.DeviceScale{acl}, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Minimum, s.Maximum = 20, 10 }, want: `configurationScale.maximum: Invalid value: 10: it is below the minimum 20`},
		"of a simulated device": {simulated: true, change: func(s *v1alpha1.ConfigurationScaleTest) { s.Minimum, s.Maximum = 65536, 65536 }},
	} {
		bed := objects.TestBed("")
		bed.Name = "leaf"
		bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Management: objects.Managed("leaf", "192.0.2.1:22", "base")}}
		bed.Spec.Device.Physical.Management.SSH.Scales = tc.described
		if tc.simulated {
			bed.Spec.Device = v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}}
		}
		test := scaleTest(tc.change)
		d, _ := DescribeTest(test)
		errs := d.Fits(test, plan.Setting{Bed: bed}, field.NewPath("configurationScale"))
		if (len(errs) == 0) != (tc.want == "") || len(errs) > 0 && (len(errs) > 1 || !strings.HasPrefix(errs[0].Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, errs, tc.want)
		}
	}
}

// Latency is required of the engine only if added latency is an effect.
func TestConfigurationScaleNeedsLatency(t *testing.T) {
	one, two := [4]string{"lab-1", "lab-1", "lab-1", "lab-1"}, [4]string{"lab-1", "lab-2", "lab-1", "lab-2"}
	packet := v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}
	const clocks = "needs a common clock"
	for _, tc := range []struct {
		nodes   [4]string
		most    *metav1.Duration
		refused bool
	}{{one, lasting(time.Microsecond), false}, {two, nil, false}, {two, lasting(time.Microsecond), true}} {
		why := withTRex(packet, tc.nodes, v1alpha1.Test{Name: "t", ConfigurationScale: &v1alpha1.ConfigurationScaleTest{MaxAddedLatency: tc.most}})
		if strings.Contains(why, clocks) != tc.refused {
			t.Errorf("%v %v: %s", tc.nodes, tc.most, why)
		}
	}
}
