package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/telemetry/readers"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// TestMeasureTelemetryCost prints what readings of every second cost a Linux router that shares the processors of the tester, at
// a load above what it forwards, by the medians of interleaved runs without, by SNMP and by SSH. NODROP_TELEMETRY_COST is the number of each.
func TestMeasureTelemetryCost(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("NODROP_TELEMETRY_COST"))
	if err != nil {
		t.Skip("NODROP_TELEMETRY_COST is not set to a number of runs")
	}
	l := newLinuxDevice(t, devicesample.AccessLists)
	physical := l.sample.Bed.Spec.Device.Physical
	second := metav1.Duration{Duration: time.Second}
	bySSH := physical.Telemetry
	bySSH.Interval = second
	modes := map[string]*v1alpha1.DeviceTelemetry{
		"none": nil, "ssh": bySSH,
		"snmp": {SNMP: &v1alpha1.SNMPTelemetry{Address: l.ServeSNMP()}, SecretName: "acl-readers", Interfaces: []string{"e1", "e2"}, Interval: second, CounterDelay: &metav1.Duration{}},
	}
	l.write("secrets/acl-readers/community", sshrouter.Community)
	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"plain"}
	l.sample.Ask(t, "- {name: soak, soak: {load: 100%, duration: 5s}}\n", 128)
	for i := range l.sample.Bed.Spec.Ports {
		l.sample.Bed.Spec.Ports[i].Speed = "2G"
	}
	for _, mode := range []string{"snmp", "ssh"} {
		l.logCostOfReading(mode, modes[mode])
	}
	order := []string{"none", "snmp", "ssh"}
	received := map[string][]float64{}
	for i := range n {
		for j := range order {
			mode := order[(i+j)%len(order)]
			physical.Telemetry = modes[mode]
			p := l.start(l.sample)
			p.exit()
			var d report.Document
			l.must(json.Unmarshal([]byte(p.stdout.String()), &d))
			row := d.Rows[0]
			if (row.Readings != nil) != (mode != "none") || row.Readings != nil && (row.Readings.Readings < 6 || row.Readings.Failed > 0) {
				t.Fatalf("%s: %+v", mode, row.Readings)
			}
			received[mode] = append(received[mode], float64(row.Frames.Received))
		}
	}
	for _, mode := range order[1:] {
		var shares []float64
		for i, r := range received[mode] {
			shares = append(shares, r/received["none"][i])
		}
		t.Logf("%s: %.0f frames of 128 B forwarded in 5 s with readings, %.0f without; ratio %.4f, of each pair %.3f", mode, median(received[mode]), median(received["none"]), median(shares), shares)
	}
}

// logCostOfReading prints the processor time of one reading, for this process and the device together, as the mean of 100.
func (l *linuxDevice) logCostOfReading(mode string, described *v1alpha1.DeviceTelemetry) {
	l.t.Helper()
	reader, err := readers.New(described, func(key string) ([]byte, error) {
		return os.ReadFile(filepath.Join(l.folder, "secrets", described.SecretName, key))
	}, nil)
	l.must(err)
	defer reader.Close()
	fs, err := procfs.NewDefaultFS()
	l.must(err)
	busy := func() float64 {
		s, err := fs.Stat()
		l.must(err)
		c := s.CPUTotal
		return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ
	}
	const readings = 100
	_, err = reader.Read(l.t.Context()) // It connects.
	l.must(err)
	before := busy()
	for range readings {
		_, err := reader.Read(l.t.Context())
		l.must(err)
	}
	l.t.Logf("%s: %.1f ms of processor time for a reading", mode, 1000*(busy()-before)/readings)
}
