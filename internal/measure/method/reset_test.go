package method

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

func resetTest(trigger v1alpha1.ResetTrigger) v1alpha1.Test {
	return v1alpha1.Test{Name: "reset", Reset: &v1alpha1.ResetTest{
		Kind: v1alpha1.ResetHardware, Trigger: trigger, Load: "50%", Repetitions: 3,
		LeadTime: metav1.Duration{Duration: 15 * time.Second}, TrialDuration: metav1.Duration{Duration: time.Minute},
	}}
}

func byTimestamp(test v1alpha1.Test) v1alpha1.Test {
	timed := *test.Reset
	timed.Method = v1alpha1.ResetByTimestamp
	test.Reset = &timed
	return test
}

// labFor makes a lab for a test on a device that takes so long for a reset, which
// the lab can reset.
func labFor(t *testing.T, test v1alpha1.Test, takes time.Duration, observe func(trials.Event)) (*trials.Tester, *sim.Engine, plan.Step) {
	t.Helper()
	p, err := planOf(t, test)
	if err != nil {
		t.Fatal(err)
	}
	e := simulate(t, ideal, p, sim.WithBehaviour(v1alpha1.SimulatedBehaviour{ResetTime: lasting(takes)}))
	tester := open(t, e, p, observe)
	trials.WithDevice(e.Device())(tester)
	return tester, e, p.Steps[0]
}

// At half of line rate a port sends a frame every 134.4 ns: 20 s of 7,440,476.19
// frames/s are 148,809,523.8.
func TestResetByTheLab(t *testing.T) {
	tester, _, step := labFor(t, resetTest(v1alpha1.ResetByDevice), 20*time.Second, nil)
	out := mustRun(t, tester, step)
	row := rowOf(tester.Plan, out)
	r := row.Reset
	if r == nil || r.Kind != v1alpha1.ResetHardware || r.Trigger != v1alpha1.ResetByDevice || r.Repetitions != 3 || r.PowerOffNs != 0 || row.Trials != 3 || out.Message+out.Invalid != "" {
		t.Fatalf("%+v %q %q", r, out.Message, out.Invalid)
	}
	const frame = 135
	for _, ns := range []int64{r.MinNs, r.AvgNs, r.MaxNs} {
		if off := ns - 20_000_000_000; off > frame || off < -frame {
			t.Errorf("%d ns, want 20 s to one frame", ns)
		}
	}
	if lost := 4 * 148_809_524; r.AvgLost > int64(lost) || r.AvgLost < int64(lost-8) || row.Frames.Lost == 0 {
		t.Errorf("lost %d, want %d on four ports", r.AvgLost, lost)
	}
}

// From the last frame before the reset to the first one after it is one interval longer
// than the lost frames take.
func TestResetByTimeStamps(t *testing.T) {
	tester, _, step := labFor(t, byTimestamp(resetTest(v1alpha1.ResetByDevice)), 20*time.Second, nil)
	out := mustRun(t, tester, step)
	r := rowOf(tester.Plan, out).Reset
	if r == nil || r.Method != v1alpha1.ResetByTimestamp || out.Message+out.Invalid != "" || out.Limit != nil {
		t.Fatalf("%+v %q %q", r, out.Message, out.Invalid)
	}
	if *r.TimestampAvgNs != r.AvgNs || r.AvgNs < 20_000_000_000 || r.AvgNs > 20_000_000_000+2*135 {
		t.Errorf("%d ns on average, %d by time stamps: want 20 s and at most two frames", r.AvgNs, *r.TimestampAvgNs)
	}
	if between := r.AvgNs - *r.FrameLossAvgNs; between < 134 || between > 135 {
		t.Errorf("%d ns longer than by the lost frames: want one frame", between)
	}
}

// A reset that takes a link of the tester down keeps it from sending: what it does not
// send is not lost, and by time stamps the trial is good all the same.
func TestResetWithoutALink(t *testing.T) {
	for name, tc := range map[string]struct {
		rx       traffic.RxCount
		took     time.Duration
		toTheEnd bool
	}{
		"all sent later": {traffic.RxCount{Received: 10, Next: 10, FirstNs: 1e9, LastNs: 10e9, SilentFromNs: 3e9, SilentToNs: 6e9}, 3 * time.Second, false},
		"never again":    {traffic.RxCount{Received: 10, Next: 10, FirstNs: 1e9, LastNs: 3e9, SilentFromNs: 2e9, SilentToNs: 3e9}, time.Second, true},
	} {
		p := plan.Plan{Ports: []plan.Port{{Name: "p1"}, {Name: "p2"}}, Streams: []plan.Stream{{ID: 1, Rx: []int{1}, Part: 1}}}
		m := traffic.Measurement{
			TxTime: 10 * time.Second, Tx: map[uint16]traffic.TxCount{1: {Intended: 10, Sent: 10}},
			Rx:    map[traffic.RxKey]traffic.RxCount{{Stream: 1, Port: "p2"}: tc.rx},
			Notes: []traffic.Note{{Kind: traffic.NoteCounter, Text: "the link went down"}},
		}
		loads := map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1, PerNanos: 1e9}}}
		o := trials.OutageOf(trials.NewTrial(p, plan.Bytes(64), 1, 10*time.Second, m), loads)
		if o.ByStamps != tc.took || o.ByLoss != 0 || o.ToTheEnd != tc.toTheEnd || !o.Unsent || !o.Happened(true) || o.Happened(false) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestResetsThatSayNothing(t *testing.T) {
	power := resetTest(v1alpha1.ResetByDevice)
	power.Reset.Kind = v1alpha1.ResetPower
	for name, tc := range map[string]struct {
		test             v1alpha1.Test
		takes            time.Duration
		message, invalid string
		reset            *v1alpha1.ResetSummary
	}{
		"no loss": {test: resetTest(v1alpha1.ResetByDevice), message: "no loss: the device forwarded every frame while it was reset",
			reset: &v1alpha1.ResetSummary{Kind: v1alpha1.ResetHardware, Trigger: v1alpha1.ResetByDevice, Method: v1alpha1.ResetByFrameLoss, Repetitions: 3, FrameLossAvgNs: new(int64), TimestampAvgNs: new(int64)}},
		"no silence": {test: byTimestamp(resetTest(v1alpha1.ResetByDevice)), message: "no loss: the device forwarded every frame while it was reset",
			reset: &v1alpha1.ResetSummary{Kind: v1alpha1.ResetHardware, Trigger: v1alpha1.ResetByDevice, Method: v1alpha1.ResetByTimestamp, Repetitions: 3, FrameLossAvgNs: new(int64), TimestampAvgNs: new(int64)}},
		"nobody came":          {test: resetTest(v1alpha1.ResetExternal), takes: time.Second, invalid: "no frame was lost in 1m: the device was not reset"},
		"nobody came, by time": {test: byTimestamp(resetTest(v1alpha1.ResetExternal)), takes: time.Second, invalid: "no frame was lost in 1m: the device was not reset"},
		"for ever, by time":    {test: byTimestamp(resetTest(v1alpha1.ResetByDevice)), takes: time.Hour, invalid: "frames were lost to the end of the trial of 1m: the device did not forward again in time: raise trialDuration"},
		"power off, by time":   {test: byTimestamp(power), takes: 10 * time.Second, invalid: "the device did not forward for 10s, which is less than the powerOffTime 15s"},
		"for ever":             {test: resetTest(v1alpha1.ResetByDevice), takes: time.Hour, invalid: "frames were lost to the end of the trial of 1m: the device did not forward again in time: raise trialDuration"},
		"power off, short":     {test: power, takes: 10 * time.Second, invalid: "the device did not forward for 10s, which is less than the powerOffTime 15s"},
	} {
		t.Run(name, func(t *testing.T) {
			tester, _, step := labFor(t, tc.test, tc.takes, nil)
			out := mustRun(t, tester, step)
			row := rowOf(tester.Plan, out)
			if tc.reset == nil && row.Reset != nil || tc.reset != nil && (row.Reset == nil || !reflect.DeepEqual(row.Reset, tc.reset)) {
				t.Errorf("%+v", row.Reset)
			}
			if !strings.HasPrefix(out.Message, tc.message) || tc.message == "" && out.Message != "" && tc.takes < time.Hour || !strings.HasPrefix(out.Invalid, tc.invalid) || (tc.invalid == "") != (out.Invalid == "") {
				t.Errorf("message %q, invalid %q", out.Message, out.Invalid)
			}
		})
	}
	tester, _, step := labFor(t, power, 35*time.Second, nil)
	if r := rowOf(tester.Plan, mustRun(t, tester, step)).Reset; r == nil || r.PowerOffNs != 15_000_000_000 || r.AvgNs < 19_999_999_000 || r.AvgNs > 20_000_001_000 {
		t.Errorf("35 s with the power off for 15 s: %+v", r)
	}
}

// A person is asked to reset the device, once a trial, when frames have been sent for
// leadTime.
func TestResetFromOutside(t *testing.T) {
	var engine *sim.Engine
	asked := 0
	tester, engine, step := labFor(t, resetTest(v1alpha1.ResetExternal), 7*time.Second, func(e trials.Event) {
		if e.Ask == "" {
			return
		}
		asked++
		if e.Ask != "reset the device now" || e.Duration != time.Minute || e.Finished != nil {
			t.Errorf("%+v", e)
		}
		if err := engine.Device().Reset(t.Context()); err != nil {
			t.Error(err)
		}
	})
	tester.Device.Resetter = nil
	r := rowOf(tester.Plan, mustRun(t, tester, step)).Reset
	if asked != 3 || r == nil || r.Trigger != v1alpha1.ResetExternal || r.MaxNs < 6_999_999_000 || r.MaxNs > 7_000_001_000 {
		t.Errorf("asked %d times: %+v", asked, r)
	}
}

// tired is a device that cannot be reset.
type tired struct {
	err   error
	asked *int
}

func (d tired) Reset(context.Context) error {
	*d.asked++
	return d.err
}

func TestADeviceThatCannotBeReset(t *testing.T) {
	tester, _, step := labFor(t, resetTest(v1alpha1.ResetByDevice), time.Second, nil)
	refused := errors.New("no such command")
	asked := 0
	trials.WithDevice(tired{refused, &asked})(tester)
	if _, err := Run(t.Context(), tester, step); !errors.Is(err, refused) || !strings.Contains(err.Error(), "the device was not reset: no such command") || asked != 1 {
		t.Error(err)
	}
	tester.Device.Resetter = nil
	if _, err := Run(t.Context(), tester, step); err == nil || !strings.Contains(err.Error(), "set trigger to External") {
		t.Error(err)
	}
}

func TestResetIsValidated(t *testing.T) {
	test := resetTest(v1alpha1.ResetExternal)
	test.Reset.PowerOffTime = lasting(time.Second)
	if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), `spec.tests[0].reset.powerOffTime: Invalid value: "1s": powerOffTime is for the kind Power`) {
		t.Error(err)
	}
	test = resetTest(v1alpha1.ResetExternal)
	test.Reset.TrialDuration = test.Reset.LeadTime
	if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), `spec.tests[0].reset.trialDuration: Invalid value: "15s": the reset begins 15s after the beginning`) {
		t.Error(err)
	}
	d, _ := DescribeTest(test)
	in := plan.Setting{Bed: objects.TestBed("")}
	in.Bed.Name = "frr"
	if errs := d.Fits(test, in, nil); len(errs) != 0 {
		t.Error(errs)
	}
	blind := byTimestamp(test)
	in.Bed.Spec.Engine.Kind = v1alpha1.EngineTRex
	if errs := d.Fits(blind, in, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), `method: Invalid value: "Timestamp": engine trex of test bed frr does not tell when frames arrive: set method to FrameLoss`) {
		t.Error(errs)
	}
	in.Engine.ArrivalTimes = true
	if errs := d.Fits(blind, in, nil); len(errs) != 0 {
		t.Error(errs)
	}
	test = resetTest(v1alpha1.ResetByDevice)
	if errs := d.Fits(test, in, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), `trigger: Invalid value: "Device": NoDrop cannot reset the device of test bed frr, only a simulated one, or a physical one whose power outlets have a switch, or whose management.ssh has resets: set trigger to External`) {
		t.Error(errs)
	}
	in.Bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Power: &v1alpha1.PowerMeter{SNMP: &v1alpha1.SNMPPowerMeter{
		Outlets: []v1alpha1.PowerOutlet{{Switch: &v1alpha1.OutletSwitch{}}},
	}}}}
	if errs := d.Fits(test, in, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), `kind: Invalid value: "Hardware": NoDrop resets the device of test bed frr by its power: set kind to Power`) {
		t.Error(errs)
	}
	test.Reset.Kind = v1alpha1.ResetPower
	if errs := d.Fits(test, in, nil); len(errs) != 0 {
		t.Error(errs)
	}
}

// TestResetByCommands chooses among the resets that a bed describes.
func TestResetByCommands(t *testing.T) {
	reload := v1alpha1.DeviceReset{Name: "reload", Kind: v1alpha1.ResetSoftware}
	process := v1alpha1.DeviceReset{Name: "processRestart", Kind: v1alpha1.ResetSoftware}
	flap := v1alpha1.DeviceReset{Name: "portFlap", Kind: v1alpha1.ResetHardware}
	all := []v1alpha1.DeviceReset{reload, process, flap}
	const listed, remedy = "reload (Software), processRestart (Software), portFlap (Hardware)", ": choose one of these by kind and name, or set trigger to External"
	for name, tc := range map[string]struct {
		described []v1alpha1.DeviceReset
		switches  bool
		kind      v1alpha1.ResetKind
		name      string
		performs  string
		want      string
	}{
		"the only one of a kind":   {described: all, kind: v1alpha1.ResetHardware, performs: "portFlap"},
		"one of two by its name":   {described: all, kind: v1alpha1.ResetSoftware, name: "processRestart", performs: "processRestart"},
		"one of two":               {described: all, kind: v1alpha1.ResetSoftware, want: `kind: Invalid value: "Software": name is missing, and the bed describes 2 resets of the kind Software: ` + listed + remedy},
		"one of another kind":      {described: all, kind: v1alpha1.ResetHardware, name: "reload", want: `name: Invalid value: "reload": the bed describes no such reset of the kind Hardware, but ` + listed + remedy},
		"an unknown one":           {described: all, kind: v1alpha1.ResetSoftware, name: "format", want: `name: Invalid value: "format": the bed describes the resets ` + listed + remedy},
		"a kind that is not there": {described: all[:1], kind: v1alpha1.ResetHardware, want: `kind: Invalid value: "Hardware": the bed describes the resets reload (Software)` + remedy},
		"power without a switch":   {described: all, kind: v1alpha1.ResetPower, want: `kind: Invalid value: "Power": the power outlets of test bed frr have no switch, and it describes the resets ` + listed + remedy},
		"power":                    {described: all, switches: true, kind: v1alpha1.ResetPower},
		"not power":                {described: all, switches: true, kind: v1alpha1.ResetHardware, performs: "portFlap"},
	} {
		bed := objects.TestBed("")
		bed.Name = "frr"
		bed.Spec.Device = v1alpha1.Device{Physical: &v1alpha1.PhysicalDevice{Management: objects.Managed("frr", "192.0.2.1:22", "base")}}
		bed.Spec.Device.Physical.Management.SSH.Resets = tc.described
		if tc.switches {
			bed.Spec.Device.Physical.Power = &v1alpha1.PowerMeter{SNMP: &v1alpha1.SNMPPowerMeter{Outlets: []v1alpha1.PowerOutlet{{Switch: &v1alpha1.OutletSwitch{}}}}}
		}
		test := resetTest(v1alpha1.ResetByDevice)
		test.Reset.Kind, test.Reset.Name = tc.kind, tc.name
		d, _ := DescribeTest(test)
		errs := d.Fits(test, plan.Setting{Bed: bed}, nil)
		if tc.want == "" && len(errs) > 0 || tc.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, errs, tc.want)
		}
		if tc.performs != "" {
			tester, e, step := labFor(t, resetTest(v1alpha1.ResetByDevice), 7*time.Second, nil)
			step.Test.Reset = test.Reset
			commands := &commands{engine: e}
			trials.WithResets(commands, bed.Spec.Device.Resets())(tester)
			trials.WithRestore(commands.restore)(tester)
			out := mustRun(t, tester, step)
			r := rowOf(tester.Plan, out).Reset
			if r == nil || r.Name != tc.performs || r.MaxNs < 6_999_999_000 || commands.entered != strings.Repeat(tc.performs+" restore ", 3) ||
				!strings.HasPrefix(out.Message, "after the reset the device did not have the configuration of the run") {
				t.Errorf("%s: %+v: entered %s: %s", name, r, commands.entered, out.Message)
			}
		}
	}
	simulated := objects.TestBed("")
	simulated.Name = "sim"
	simulated.Spec.Device = v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{}}
	test := resetTest(v1alpha1.ResetByDevice)
	test.Reset.Name = "reload"
	d, _ := DescribeTest(test)
	if errs := d.Fits(test, plan.Setting{Bed: simulated}, nil); len(errs) != 1 || errs[0].Error() != `name: Invalid value: "reload": test bed sim describes no resets: leave name out` {
		t.Error(errs)
	}
}

// TestAResetAfterTheFrames logs in to a device for so long that no frame is sent any more when it is reset: that it lost no frame
// does not show that it forwarded meanwhile.
func TestAResetAfterTheFrames(t *testing.T) {
	described := []v1alpha1.DeviceReset{{Name: "portFlap", Kind: v1alpha1.ResetHardware}}
	for name, tc := range map[string]struct {
		login, takes time.Duration
		invalid      string
		none         bool
	}{
		"in time, without loss": {login: 44 * time.Second, none: true},
		"late, without loss":    {login: 46 * time.Second, invalid: "the reset ended 1m1s after the beginning of a trial of 1m that lost no frame"},
		"late":                  {login: 5 * time.Minute, takes: 7 * time.Second, invalid: "the reset ended 5m15s after the beginning of a trial of 1m that lost no frame"},
	} {
		for kind, test := range map[string]v1alpha1.Test{"by loss": resetTest(v1alpha1.ResetByDevice), "by time": byTimestamp(resetTest(v1alpha1.ResetByDevice))} {
			tester, e, step := labFor(t, test, tc.takes, nil)
			trials.WithResets(&commands{engine: e, login: tc.login}, described)(tester)
			out := mustRun(t, tester, step)
			r := rowOf(tester.Plan, out).Reset
			if !strings.HasPrefix(out.Invalid, tc.invalid) || (tc.invalid == "") != (out.Invalid == "") || (r == nil) != (tc.invalid != "") || strings.HasPrefix(out.Message, "no loss") != tc.none {
				t.Errorf("%s, %s: %+v, message %q, invalid %q", name, kind, r, out.Message, out.Invalid)
			}
		}
	}
}

// commands are the resets of a simulated device by commands, which loses its configuration by each.
type commands struct {
	engine  *sim.Engine
	entered string
	// login is how long it takes until the commands can be entered.
	login time.Duration
}

func (c *commands) Reset(ctx context.Context, name string) error {
	c.entered += name + " "
	if err := c.engine.Clock().Sleep(ctx, c.login); err != nil {
		return err
	}
	return c.engine.Device().Reset(ctx)
}

func (c *commands) restore(context.Context) (bool, error) {
	c.entered += "restore "
	return true, nil
}
