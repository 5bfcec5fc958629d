package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/readers"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// costWindow is the time of a window with readings in each second, or without.
const costWindow = time.Second

// TestMeasureTelemetryCost measures what readings in each second cost a Linux router that shares the processors of the tester, at a load above what it
// forwards, by SNMP and by SSH. Runs of their own differ by 20 % on such a machine. Seconds of one run that follow each other differ by far less:
// each block has two windows with readings and two without, in the order ABBA or BAAB. Blocks still differ by
// 10 %, so that the processor time of a reading is the better bound: a router that is limited by its processors loses at most the share that readings
// take. The test fails if that is 1 % by SNMP, or if the frames show a loss of 1 %.
// NODROP_TELEMETRY_COST is the number of blocks.
func TestMeasureTelemetryCost(t *testing.T) {
	blocks, err := strconv.Atoi(os.Getenv("NODROP_TELEMETRY_COST"))
	if err != nil || blocks < 6 {
		t.Skip("NODROP_TELEMETRY_COST is not set to a number of blocks, 6 or more")
	}
	l := newLinuxDevice(t, devicesample.AccessLists)
	physical := l.sample.Bed.Spec.Device.Physical
	bySSH := physical.Telemetry
	bySNMP := &v1alpha1.DeviceTelemetry{SNMP: &v1alpha1.SNMPTelemetry{Address: l.ServeSNMP()}, SecretName: "acl-readers", Interfaces: []string{"e1", "e2"}}
	physical.Telemetry = nil
	l.write("secrets/acl-readers/community", sshrouter.Community)
	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"plain"}
	windows := time.Duration(4*blocks) * costWindow
	l.sample.Ask(t, fmt.Sprintf("- {name: soak, soak: {load: 100%%, duration: %s}}\n", 2*windows+time.Minute), 128)
	for i := range l.sample.Bed.Spec.Ports {
		l.sample.Bed.Spec.Ports[i].Speed = "2G"
	}
	snmp, ssh := l.openReader(bySNMP), l.openReader(bySSH)
	if share := l.costOfReading("snmp", snmp); share >= 0.01 {
		t.Errorf("readings by SNMP in each second take %.2f %% of a processor", 100*share)
	}
	l.costOfReading("ssh", ssh)
	p := l.start(l.sample)
	for l.forwarded() < 100_000 { // The run has begun to send.
		time.Sleep(100 * time.Millisecond)
	}
	for _, c := range []struct {
		name   string
		reader telemetry.Reader
	}{{"snmp", snmp}, {"ssh", ssh}} {
		var ratios []float64
		for range blocks {
			ratios = append(ratios, l.costBlock(c.reader))
		}
		slices.Sort(ratios)
		k := signRank(len(ratios))
		low, high := ratios[k-1], ratios[len(ratios)-k]
		t.Logf("%s: with readings in each second the router forwards %.4f times as many frames as without (95 %%: %.4f to %.4f; %d blocks from %.3f to %.3f)", c.name, median(ratios), low, high, len(ratios), ratios[0], ratios[len(ratios)-1])
		if c.name == "snmp" && high < 0.99 {
			t.Errorf("readings by SNMP cost 1 %% of the frames or more")
		}
	}
	l.must(p.cmd.Process.Signal(os.Interrupt))
	p.exit()
}

// costBlock returns the frames that the router forwards in two windows with readings, over the frames of two without.
func (l *linuxDevice) costBlock(reader telemetry.Reader) float64 {
	first := rand.IntN(2) == 0
	var frames [2]float64 // without, and with readings
	for _, with := range []bool{first, !first, !first, first} {
		began, before := time.Now(), l.forwarded()
		for at := costWindow / 8; at < costWindow; at += time.Second {
			time.Sleep(time.Until(began.Add(at)))
			if with {
				_, err := reader.Read(l.t.Context())
				l.must(err)
			}
		}
		time.Sleep(time.Until(began.Add(costWindow)))
		i := 0
		if with {
			i = 1
		}
		frames[i] += (l.forwarded() - before) / time.Since(began).Seconds()
	}
	if slices.Min(frames[:]) < 1000 {
		l.t.Fatalf("in two windows each the router forwards %.0f frames/s without readings and %.0f with them", frames[0], frames[1])
	}
	return frames[1] / frames[0]
}

// forwarded returns the number of frames that the router has sent.
func (l *linuxDevice) forwarded() (n float64) {
	for line := range strings.Lines(l.Run("cat", "/proc/net/dev")) {
		fields := strings.Fields(line)
		if fields[0] != "e1:" && fields[0] != "e2:" {
			continue
		}
		sent, err := strconv.ParseFloat(fields[10], 64)
		l.must(err)
		n += sent
	}
	return n
}

// signRank returns the rank of the lower end of the interval of the median with 95 %, by the sign test.
func signRank(n int) int {
	rank, sum, p := 0, 0.0, math.Pow(0.5, float64(n)) // p is the probability of k values on one side.
	for k := 0; sum+p <= 0.025; k++ {
		sum += p
		p *= float64(n-k) / float64(k+1)
		rank = k + 1
	}
	return rank
}

// openReader opens a reader of the device until the test ends.
func (l *linuxDevice) openReader(described *v1alpha1.DeviceTelemetry) telemetry.Reader {
	l.t.Helper()
	reader, err := readers.New(described, func(key string) ([]byte, error) {
		return os.ReadFile(filepath.Join(l.folder, "secrets", described.SecretName, key))
	}, nil)
	l.must(err)
	l.t.Cleanup(reader.Close)
	return reader
}

// costOfReading returns the share of a processor that a reading in each second takes, for this process and the device together, as the mean of 100.
func (l *linuxDevice) costOfReading(mode string, reader telemetry.Reader) float64 {
	l.t.Helper()
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
	share := (busy() - before) / readings
	l.t.Logf("%s: %.1f ms of processor time for a reading", mode, 1000*share)
	return share
}
