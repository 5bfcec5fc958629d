package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/openvswitch"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// TestRunAccessLists measures Linux without and with access lists of 201 entries, and with one that lacks an entry. The bed is
// calibrated, so that the report has differences.
func TestRunAccessLists(t *testing.T) {
	l := newLinuxDevice(t, devicesample.AccessLists)
	l.calibrate()
	d := l.measureSample()
	for _, row := range d.Rows {
		if row.Validity == v1alpha1.ValidityUncalibrated {
			t.Errorf("%s: %v", row.Variant, row.ValidityReasons)
		}
		if c := d.Environment.Configurations()[row.Variant]; row.Variant != "plain" && (c.Commands != 1 || !strings.Contains(c.Software, "nftables v")) {
			t.Errorf("%s: %+v", row.Variant, c)
		}
	}
}

// TestRunFilters measures FRR on Linux with filters of half of the networks that it learned; with -short only with the one that denies half of
// them but for an entry.
func TestRunFilters(t *testing.T) {
	needsRouter(t, "frr")
	l := newLinuxDevice(t, devicesample.Filters)
	l.shortly("entry-missing").measureSample()
}

// TestRunNAT measures Linux that translates addresses; with -short without a variant that only routes. The connections of one variant are unknown in the next one, or the
// missing translation would not be seen.
func TestRunNAT(t *testing.T) {
	newLinuxDevice(t, devicesample.NAT).shortly("translated", "missing").measureSample()
}

// TestRunMirror measures a bridge that copies the frames of a port to others; with -short to one of two ports.
func TestRunMirror(t *testing.T) {
	newLinuxDevice(t, devicesample.Mirror).shortly("dead").measureSample()
}

// TestRunClasses measures Linux with queues for three classes on an oversubscribed port; with -short with two classes swapped.
func TestRunClasses(t *testing.T) {
	newLinuxDevice(t, devicesample.Classes).shortly("swapped").measureSample()
}

// TestRunLabels measures Open vSwitch, which forwards labelled frames, swaps labels and pops them. One table compares swapped labels
// with IP.
func TestRunLabels(t *testing.T) {
	longtest.Skip(t, "TestRunMachine with a kernel that swaps and pops labels, and TestDriver and TestOpenVSwitch of internal/dut with Open vSwitch")
	l := newLinuxDevice(t, devicesample.Labels)
	l.measure()
	l.sample.Benchmark.Spec.Variants = nil
	l.sample.Profile.Spec.Packet = devicesample.Read(t, devicesample.Push.Sample).Profile.Spec.Packet
	ip := l.measureBase("base", "ip.json")
	l.sample.Profile.Spec.Packet = devicesample.Read(t, devicesample.Labels.Sample).Profile.Spec.Packet
	comparesLatency(t, "ip="+ip, "swap="+l.measureBase("swap", "swap.json"))
}

// measureBase makes a configuration of the sample the base of Open vSwitch, measures it, and returns the file of the result.
func (l *linuxDevice) measureBase(key, output string) string {
	l.t.Helper()
	l.sample.Bed.Spec.Device.Physical.Management.Configuration.ConfigMapRef.Key = key
	driver, err := openvswitch.New(l.Access())
	l.must(err)
	base, err := driver.Language().Parse(l.sample.Configurations.Data[key])
	l.must(err)
	_, err = configure.Apply(l.t.Context(), driver, base, time.Minute)
	l.must(err)
	l.output = filepath.Join(l.folder, output)
	l.measure()
	return l.output
}

// comparesLatency compares two results with one latency each, and expects both in one row.
func comparesLatency(t *testing.T, results ...string) {
	t.Helper()
	p := start(t, append([]string{"compare"}, results...)...)
	p.wants(exit.Passed, "Test latency", "")
	if row := regexp.MustCompile(`(?m)^ +128 +0\.2% +[\d,]+\.\d+ +N/A +[\d,]+\.\d+ `); len(row.FindAllString(p.stdout.String(), -1)) < 2 {
		t.Errorf("there are no rows with the latency of both:\n%s", &p.stdout)
	}
}

// TestRunPush measures Open vSwitch, which forwards IP and pushes labels.
func TestRunPush(t *testing.T) {
	longtest.Skip(t, "TestRunMachine, and in make test-long TestRunLabels with the same device")
	newLinuxDevice(t, devicesample.Push).measure()
}

// TestRunReadsSNMP reads Debian's SNMP agent on a router that drops frames of one direction at an interface, which counts them,
// and has no route for the other one, which no interface counts.
func TestRunReadsSNMP(t *testing.T) {
	l := newLinuxDevice(t, devicesample.AccessLists)
	l.sample.Bed.Spec.Device.Physical.Telemetry = &v1alpha1.DeviceTelemetry{
		SNMP: &v1alpha1.SNMPTelemetry{Address: l.ServeSNMP(`override .1.3.6.1.2.1.99.1.1.1.1.1 integer 6`, `override .1.3.6.1.2.1.99.1.1.1.2.1 integer 9`,
			`override .1.3.6.1.2.1.99.1.1.1.3.1 integer 1`, `override .1.3.6.1.2.1.99.1.1.1.4.1 integer 4215`, `override .1.3.6.1.2.1.99.1.1.1.5.1 integer 1`)},
		SecretName: "acl-readers", Interfaces: []string{"e1", "e2", "inside2"}, CounterDelay: &metav1.Duration{},
	}
	l.write("secrets/acl-readers/community", sshrouter.Community)
	l.DropInside("e1", "198.18.2.0/24", 100)
	l.Run("ip", "rule", "add", "iif", "e2", "lookup", "201")
	l.Run("ip", "route", "add", "blackhole", "198.18.1.2", "table", "201")
	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"plain"}
	l.sample.Ask(t, "- {name: latency, latency: {loads: [2%], trialDuration: 500ms}}\n", 128)
	l.of.Check = func(t testing.TB, rows []v1alpha1.ResultRow) {
		r := rows[0].Readings
		if r == nil || r.Unexplained == nil {
			t.Fatalf("the device was not read: %+v: %s", r, rows[0].Message)
		}
		if len(r.Counters) != 1 || r.Counters[0].Name != "input discards of inside2" || r.Counted+*r.Unexplained != r.Lost || r.Lost < rows[0].Frames.Lost {
			t.Errorf("of %d frames: %+v", rows[0].Frames.Sent, r)
		}
		// A tester that is short of frames is so in one of the directions, and repeats the trial, which is in the readings, too.
		half := r.Lost / 2
		if once := r.Lost == rows[0].Frames.Lost; once && !devicesample.LimitedByTester(rows[0]) && (r.Counted < half || r.Counted > half+5) {
			t.Errorf("of %d frames: %+v", rows[0].Frames.Sent, r)
		}
		if !slices.ContainsFunc(r.Sensors, func(s v1alpha1.DeviceSensor) bool {
			return s.Name == "sensor 1" && s.Unit == "W" && s.MeanThousandths == 421_500
		}) {
			t.Errorf("%+v, want the power", r.Sensors)
		}
	}
	d := l.measure()
	if f := d.Environment.DeviceFacts; f == nil || !strings.HasPrefix(f.Description, "Linux ") || f.UpSeconds > 3600 {
		t.Errorf("the device is %+v", f)
	}
	if d.Bed.Device.Physical.Telemetry != nil || strings.Contains(fmt.Sprintf("%+v", d), sshrouter.Community) {
		t.Error("the report describes how the device is read")
	}
}

// linuxDevice is Linux as the device of a sample. Nodrop run reaches it by SSH, and its ports by interfaces of a
// namespace.
type linuxDevice struct {
	*sshrouter.Linux
	t      *testing.T
	of     devicesample.Case
	sample *devicesample.Sample
	// folder has the files of runs.
	folder string
	// output is the file of the result, next to which captured frames are; empty for the standard output.
	output string
	// calibration is the file with the measurement of the ports back to back; empty if there is none.
	calibration string
}

// shortly leaves variants in short runs; others are like them.
func (l *linuxDevice) shortly(variants ...v1alpha1.VariantName) *linuxDevice {
	if testing.Short() {
		l.sample.Benchmark.Spec.Variants = variants
	}
	return l
}

func newLinuxDevice(t *testing.T, of devicesample.Case) *linuxDevice {
	t.Helper()
	needsRoot(t)
	namespacetest.Enter(t)
	l := &linuxDevice{t: t, of: of, folder: t.TempDir()}
	lo, err := netlink.LinkByName("lo")
	l.must(err)
	l.must(netlink.LinkSetUp(lo))
	l.sample, l.Linux = of.Prepared(t, "127.0.0.1", "nd-e")
	l.writeAccess()
	return l
}

// writeAccess writes the files by which nodrop run reaches the device.
func (l *linuxDevice) writeAccess() {
	l.t.Helper()
	access := "secrets/" + l.sample.Bed.Spec.Device.Physical.Management.SecretName
	l.write(access+"/user", sshrouter.User)
	l.write(access+"/password", sshrouter.Password)
	l.write(access+"/hostKeys", string(l.HostKey))
}

// calibrate measures the two ports of the sample back to back, as if the device were taken away, and connects the
// device again. Runs after it use the calibration.
func (l *linuxDevice) calibrate() {
	l.t.Helper()
	loops := *l.sample
	loops.Bed, loops.Benchmark = *l.sample.Bed.DeepCopy(), *l.sample.Benchmark.DeepCopy()
	loops.Bed.Name, loops.Benchmark.Spec.TestBedName, loops.Benchmark.Spec.Variants = "loops", "loops", nil
	loops.Bed.Spec.Device = v1alpha1.Device{BackToBack: &v1alpha1.BackToBackDevice{JoinedBy: v1alpha1.JoinedByCables}}
	var names []string
	for i := range loops.Bed.Spec.Ports {
		p := &loops.Bed.Spec.Ports[i]
		p.Addresses, p.Gateways = []string{fmt.Sprintf("198.18.1.%d/24", i+2)}, nil
		names = append(names, p.Attachment.HostDevice.Interface)
		link, err := netlink.LinkByName(p.Attachment.HostDevice.Interface)
		l.must(err)
		l.must(netlink.LinkDel(link))
	}
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: names[0]}, PeerName: names[1]}
	l.must(netlink.LinkAdd(cable))
	l.calibration = filepath.Join(l.folder, "calibration.json")
	l.start(&loops, "--output-file", l.calibration).measures("")
	l.must(netlink.LinkDel(cable))
	l.sample.Connect(l.Linux, "nd-e")
	l.sample.Bed.Spec.Calibration = &v1alpha1.CalibrationReference{TestBedName: loops.Bed.Name}
}

// measureSample is measure, and expects that the device counted what was lost.
func (l *linuxDevice) measureSample() report.Document {
	l.t.Helper()
	d := l.measure()
	l.of.CheckReadings(l.t, d.Rows)
	return d
}

// measure runs the tests in all variants, and checks the rows. What the device had before it has again.
func (l *linuxDevice) measure() report.Document {
	l.t.Helper()
	running := l.Running
	if l.of.Running != nil {
		running = func() string { return l.of.Running(l.Linux) }
	}
	before := running()
	var args []string
	if l.output != "" {
		args = []string{"--output-file", l.output}
	}
	p := l.start(l.sample, args...)
	if code := p.exit(); !slices.Contains([]int{exit.Passed, exit.Failed, exit.Inconclusive}, code) {
		var d report.Document
		_ = json.Unmarshal([]byte(p.stdout.String()), &d) // empty if the result is in a file
		l.t.Fatalf("exit code %d: %s\n%s", code, &p.stderr, d.Message)
	}
	text := []byte(p.stdout.String())
	if l.output != "" {
		var err error
		text, err = os.ReadFile(l.output)
		l.must(err)
	}
	var d report.Document
	l.must(json.Unmarshal(text, &d))
	if after := running(); after != before {
		l.t.Errorf("after the run the device has\n%s\nwant\n%s", after, before)
	}
	want := 0
	for _, test := range l.sample.Benchmark.Spec.Tests {
		want += max(1, len(l.sample.Benchmark.Spec.Variants)) * plan.RowsPerSize(test)
	}
	if len(d.Rows) != want {
		l.t.Fatalf("%d rows, want %d: %s", len(d.Rows), want, d.Message)
	}
	l.of.Check(l.t, d.Rows)
	return d
}

// start starts nodrop run with the objects of a sample.
func (l *linuxDevice) start(s *devicesample.Sample, args ...string) *process {
	l.t.Helper()
	args = append([]string{"run", "--secrets", filepath.Join(l.folder, "secrets"), "--state-dir", filepath.Join(l.folder, "state"), "-o", "json"}, args...)
	if s.Bed.Spec.Calibration != nil {
		args = append(args, "--calibration", l.calibration)
	}
	for name, object := range map[string]any{"bed": s.Bed, "profile": s.Profile, "benchmark": s.Benchmark, "config": s.Configurations} {
		text, err := yaml.Marshal(object)
		l.must(err)
		args = append(args, "-f", l.write(name+".yaml", string(text)))
	}
	return start(l.t, args...)
}

// write writes a file of a run, and returns its path.
func (l *linuxDevice) write(name, content string) string {
	l.t.Helper()
	path := filepath.Join(l.folder, name)
	l.must(os.MkdirAll(filepath.Dir(path), 0o700))
	l.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (l *linuxDevice) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}
