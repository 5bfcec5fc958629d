package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// outletScript is an outlet of a power distribution unit, with its power in W and its switch. A device without power does not
// forward. The script writes down the times before and after the power went, and before and after it came, in ns.
const outletScript = `use Time::HiRes qw(time);
$| = 1;
my ($log) = @ARGV;
my $state = 1;
while (<STDIN>) {
  next unless /\S/; # A value ends with an empty line.
  if (/PING/) { print "PONG\n"; next; }
  my $sets = /^set/;
  chomp(my $oid = <STDIN>);
  if ($sets) {
    my ($type, $value) = split " ", <STDIN>;
    if ($oid !~ /\.2$/) { print "not-writable\n"; next; }
    if ($value != 1 && $value != 2) { print "wrong-value\n"; next; }
    if ($value != $state) {
      my $before = time;
      open my $file, ">", "/proc/sys/net/ipv4/ip_forward" or die;
      print $file $value == 1 ? 1 : 0;
      close $file;
      open my $out, ">>", $log or die;
      printf $out "%.0f %.0f\n", 1e9 * $before, 1e9 * time;
      close $out;
      $state = $value;
    }
    print "DONE\n";
  } elsif ($oid =~ /\.2$/) { print "$oid\ninteger\n$state\n";
  } else { printf "%s\ngauge\n%d\n", $oid, $state == 1 ? 150 : 0; }
}
`

// withOutlet gives the device of a sample an outlet, and returns the file with the times before and after its power went and came.
func (l *linuxDevice) withOutlet() (log string) {
	l.t.Helper()
	log = filepath.Join(l.folder, "outlet.log")
	const base = "1.3.6.1.4.1.8072.9999.1"
	address := l.ServeSNMP("pass_persist ." + base + " /usr/bin/perl " + l.write("outlet", outletScript) + " " + log)
	l.sample.Bed.Spec.Device.Physical.Power = &v1alpha1.PowerMeter{
		SNMP: &v1alpha1.SNMPPowerMeter{Address: address, Outlets: []v1alpha1.PowerOutlet{
			{OID: base + ".1", MilliwattsPerUnit: 1000, Switch: &v1alpha1.OutletSwitch{OID: base + ".2", On: 1, Off: 2}},
		}},
		SecretName: "acl-meter", Settle: &metav1.Duration{}, Interval: &metav1.Duration{Duration: 100 * time.Millisecond},
	}
	l.write("secrets/acl-meter/community", sshrouter.Community)
	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"plain"}
	return log
}

// switched returns the times before and after each change in a log.
func switched(t testing.TB, log string) (times []time.Duration) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, time.Duration(n))
	}
	return times
}

// TestRunPowerReset cuts the power of a device by Debian's SNMP agent (RFC 6201 section 4.3): the device is away for as long as
// its outlet was off, on average of two times, or with -short one time.
func TestRunPowerReset(t *testing.T) {
	l := newLinuxDevice(t, devicesample.AccessLists)
	log := l.withOutlet()
	repetitions := 2
	if testing.Short() {
		repetitions = 1
	}
	l.sample.Ask(t, fmt.Sprintf("- {name: reset, reset: {kind: Power, trigger: Device, load: 2%%, leadTime: 500ms, trialDuration: 3s, powerOffTime: 700ms, repetitions: %d}}\n", repetitions), 128)
	l.of.Check = func(t testing.TB, rows []v1alpha1.ResultRow) {
		r := rows[0].Reset
		t.Log(rows[0].Message)
		// The frames that the device had in its queues are the difference.
		wasAway(t, r, switched(t, log), 100*time.Millisecond)
		if r.Kind != v1alpha1.ResetPower || r.Trigger != v1alpha1.ResetByDevice || r.PowerOffNs != int64(700*time.Millisecond) || int(r.Repetitions) != repetitions {
			t.Errorf("%+v", r)
		}
	}
	l.measure()
}

// TestInterruptedPowerReset kills a run while the power is off. The next run turns the power on before it resets the device, and again
// when it is interrupted in its reset.
func TestInterruptedPowerReset(t *testing.T) {
	t.Parallel() // It compares no rates.
	l := newLinuxDevice(t, devicesample.AccessLists)
	log := l.withOutlet()
	l.sample.Ask(t, "- {name: reset, reset: {kind: Power, trigger: Device, load: 2%, leadTime: 100ms, trialDuration: 2h, powerOffTime: 50m}}\n", 128)
	ends := func(changes int, signal syscall.Signal) (code int) {
		p := l.start(l.sample)
		p.switches(log, changes)
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		return p.exit()
	}
	ends(1, syscall.SIGKILL)
	if n := len(switched(t, log)) / 2; n != 1 {
		t.Fatalf("a run was killed while the power is off, and the outlet was switched %d times", n)
	}
	if code := ends(3, syscall.SIGTERM); code != exit.Aborted {
		t.Errorf("exit code %d", code)
	}
	if n := len(switched(t, log)) / 2; n != 4 {
		t.Errorf("the outlet was switched %d times, want off by the first run, on before the second, off, and on", n)
	}
}

// switches waits until an outlet was switched so often.
func (p *process) switches(log string, changes int) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); len(switched(p.t, log))/2 < changes; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("the outlet was switched %d times, want %d: %s\n%s", len(switched(p.t, log))/2, changes, &p.stderr, &p.stdout)
		}
	}
}
