package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// meterScript is a power meter in tenths of W: 150 W, and 400 nJ for each bit of the frames of 1,024 bytes that the device sends at two
// interfaces, as its kernel counts them in half a second. A veth counts bytes with or without the Ethernet header, so that frames are
// counted. The counters are read again if the program was held up meanwhile, since their time would be unknown. The script speaks as snmpd
// wants it of programs that stay.
const meterScript = `use Time::HiRes qw(time sleep);
$| = 1;
sub sample {
  for (my $left = 100; ; $left--) {
    my ($from, $bits) = (time, 0);
    open my $file, "<", "/proc/net/dev" or die;
    while (<$file>) {
      next unless /^\s*(?:e1|e2):\s*(.*)/;
      my @counters = split " ", $1;
      $bits += 8 * 1024 * $counters[9];
    }
    my $to = time;
    return ($bits, $to) if $to - $from < 0.002 || !$left;
  }
}
while (<STDIN>) {
  if (/PING/) { print "PONG\n"; next; }
  my $oid = <STDIN>;
  my ($before, $from) = sample;
  sleep 0.5;
  my ($after, $now) = sample;
  printf "%sgauge\n%.0f\n", $oid, 10 * (150 + 400e-9 * ($after - $before) / ($now - $from));
}
`

// TestRunPower reads Debian's SNMP agent as a meter whose power follows the load: the line through the loads is the one of
// the meter. With -short there are two loads.
func TestRunPower(t *testing.T) {
	l := newLinuxDevice(t, devicesample.AccessLists)
	script := l.write("meter", meterScript)
	const base = "1.3.6.1.4.1.8072.9999.1"
	address := l.ServeSNMP("pass_persist ." + base + " /usr/bin/perl " + script)
	l.sample.Bed.Spec.Device.Physical.Power = &v1alpha1.PowerMeter{
		SNMP:       &v1alpha1.SNMPPowerMeter{Address: address, Outlets: []v1alpha1.PowerOutlet{{OID: base + ".1", MilliwattsPerUnit: 100}}},
		SecretName: "acl-meter", Settle: &metav1.Duration{Duration: 100 * time.Millisecond}, Interval: &metav1.Duration{Duration: 100 * time.Millisecond},
	}
	l.write("secrets/acl-meter/community", sshrouter.Community)
	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"plain"}
	loads := "10%, 20%, 30%"
	if testing.Short() {
		loads = "10%, 30%"
	}
	l.sample.Ask(t, "- {name: latency, latency: {loads: ["+loads+"], trialDuration: 5s}}\n", 1024)
	l.of.Check = func(t testing.TB, rows []v1alpha1.ResultRow) {
		for _, row := range rows {
			p := row.Power
			if p == nil || p.Trial == nil || p.Idle == nil || p.PicojoulesPerBit == nil {
				t.Fatalf("the meter was not read: %+v: %s", p, row.Message)
			}
			if p.Trial.Readings < 4 || p.Idle.MeanMilliwatts != 150_000 {
				t.Errorf("%+v, idle %+v", p.Trial, p.Idle)
			}
			if sent := 8 * 1024 * row.Frames.Received / 5; p.BitsPerSecond < sent*99/100 || p.BitsPerSecond > sent*101/100 {
				t.Errorf("%d bit/s, and %d frames in 5 s", p.BitsPerSecond, row.Frames.Received)
			}
			if off := *p.PicojoulesPerBit - 400_000; off > p.PicojoulesPerBitAccuracy || off < -p.PicojoulesPerBitAccuracy {
				t.Errorf("%d pJ/bit ± %d, and the meter has 400,000", *p.PicojoulesPerBit, p.PicojoulesPerBitAccuracy)
			}
			t.Logf("%s: %+v, %+v, %d pJ/bit ± %d", row.Load, p.Trial, p.Fit, *p.PicojoulesPerBit, p.PicojoulesPerBitAccuracy)
		}
		last := rows[len(rows)-1].Power
		f, accuracy := last.Fit, last.Trial.AccuracyMilliwatts
		if f == nil || int(f.Rows) != len(rows) || rows[0].Power.Fit != nil {
			t.Fatalf("%+v", f)
		}
		if off := f.PicojoulesPerBit - 400_000; off > f.PicojoulesPerBitAccuracy || off < -f.PicojoulesPerBitAccuracy || f.PicojoulesPerBitAccuracy > 10_000 {
			t.Errorf("%d pJ/bit ± %d, and the meter has 400,000", f.PicojoulesPerBit, f.PicojoulesPerBitAccuracy)
		}
		if off := f.BaseMilliwatts - 150_000; off > accuracy || off < -accuracy || f.LargestResidualMilliwatts > accuracy {
			t.Errorf("%+v: more than %d mW off", f, accuracy)
		}
	}
	d := l.measure()
	if d.Bed.Device.Physical.Power != nil || strings.Contains(fmt.Sprintf("%+v", d), sshrouter.Community) {
		t.Error("the report describes how the meter is read")
	}
}
