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
	"nodrop.dev/nodrop/internal/testkit/gnmitarget"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// costWindow is the time of a window with readings in each second, or without.
const costWindow = time.Second

// TestMeasureReadingCost measures the processor time of a reading by SNMP, by SSH and by gNMI, of this process and the servers together. It fails if a reading in each
// second takes 1 % of a processor or more. Rounds take turns, so that other programs of the machine slow all of them. The target of gNMI forwards
// nothing: it has two interfaces, as the router has, and answers from a tree in memory.
func TestMeasureReadingCost(t *testing.T) {
	measuredBlocks(t)
	target := gnmitarget.Start(t, `{"openconfig-interfaces:interfaces": {"interface": [
		{"name": "e1", "config": {"name": "e1"}, "state": {"counters": {"in-discards": "5", "in-errors": "0", "out-discards": "1", "out-errors": "0"}}},
		{"name": "e2", "config": {"name": "e2"}, "state": {"counters": {"in-discards": "7", "in-errors": "0", "out-discards": "1", "out-errors": "0"}}}]},
		"openconfig-system:system": {"memory": {"state": {"physical": "4000", "used": "1000"}}, "cpus": {"cpu": [{"index": 0, "state": {"index": 0, "total": {"instant": 12}}}]}}}`)
	gnmi, err := readers.New(&v1alpha1.DeviceTelemetry{GNMI: &v1alpha1.GNMITelemetry{Address: target.Address}, Interfaces: []string{"e1", "e2"}}, target.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gnmi.Close)
	if _, err := gnmi.Read(t.Context()); err != nil { // It connects outside of the network namespace of the device.
		t.Fatal(err)
	}
	l := newLinuxDevice(t, devicesample.AccessLists)
	snmp, ssh := l.costReaders()
	modes := []struct {
		name   string
		reader telemetry.Reader
		costs  []float64
	}{{name: "snmp", reader: snmp}, {name: "ssh", reader: ssh}, {name: "gnmi", reader: gnmi}}
	for range 7 {
		for i := range modes {
			modes[i].costs = append(modes[i].costs, l.costOfReading(modes[i].reader))
		}
	}
	for _, m := range modes {
		slices.Sort(m.costs)
		t.Logf("%s: %.2f ms of processor time for a reading (%.2f to %.2f)", m.name, 1000*median(m.costs), 1000*m.costs[0], 1000*m.costs[len(m.costs)-1])
		if median(m.costs) >= 0.01 {
			t.Errorf("readings by %s in each second take %.2f %% of a processor", m.name, 100*median(m.costs))
		}
	}
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// costReaders returns readers of the device by SNMP and by SSH.
func (l *linuxDevice) costReaders() (snmp, ssh telemetry.Reader) {
	l.t.Helper()
	physical := l.sample.Bed.Spec.Device.Physical
	bySSH := physical.Telemetry
	bySNMP := &v1alpha1.DeviceTelemetry{SNMP: &v1alpha1.SNMPTelemetry{Address: l.ServeSNMP()}, SecretName: "acl-readers", Interfaces: []string{"e1", "e2"}}
	physical.Telemetry = nil
	l.write("secrets/acl-readers/community", sshrouter.Community)
	return l.openReader(bySNMP), l.openReader(bySSH)
}

// measuredBlocks returns the number of blocks from NODROP_TELEMETRY_COST, without which it skips the test.
func measuredBlocks(t *testing.T) int {
	t.Helper()
	blocks, err := strconv.Atoi(os.Getenv("NODROP_TELEMETRY_COST"))
	if err != nil || blocks < 6 {
		t.Skip("NODROP_TELEMETRY_COST is not set to a number of blocks, 6 or more")
	}
	return blocks
}

// TestMeasureTelemetryCost measures what readings in each second cost a Linux router that shares the processors of the tester, at a load above what it
// forwards, by SNMP and by SSH. Runs of their own differ by 20 % on such a machine. Seconds of one run that follow each other differ by far less:
// each block has two windows with readings and two without, in the order ABBA or BAAB. Blocks still differ by
// 10 %, so that the processor time of a reading is the better bound: a router that is limited by its processors loses at most the share that readings
// take. The test fails if the frames show a loss of 1 % by SNMP.
// NODROP_TELEMETRY_COST is the number of blocks.
func TestMeasureTelemetryCost(t *testing.T) {
	blocks := measuredBlocks(t)
	l := newLinuxDevice(t, devicesample.AccessLists)
	snmp, ssh := l.costReaders()
	l.sample.Benchmark.Spec.Variants = []v1alpha1.VariantName{"plain"}
	windows := time.Duration(4*blocks) * costWindow
	l.sample.Ask(t, fmt.Sprintf("- {name: soak, soak: {load: 100%%, duration: %s}}\n", 2*windows+time.Minute), 128)
	for i := range l.sample.Bed.Spec.Ports {
		l.sample.Bed.Spec.Ports[i].Speed = "2G"
	}
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

// costOfReading returns the processor time of a reading in seconds, as the mean of 50.
func (l *linuxDevice) costOfReading(reader telemetry.Reader) float64 {
	l.t.Helper()
	const readings = 50
	_, err := reader.Read(l.t.Context()) // It connects.
	l.must(err)
	before := l.busy(os.Getpid())
	for range readings {
		_, err := reader.Read(l.t.Context())
		l.must(err)
	}
	return (l.busy(os.Getpid()) - before) / readings
}

// busy returns the processor time of a process and its descendants in seconds, with those that have ended. Servers of tests are descendants of this
// process.
func (l *linuxDevice) busy(pid int) float64 {
	l.t.Helper()
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0 // It has ended.
	}
	s, err := p.Stat()
	if err != nil {
		return 0
	}
	const ticks = 100 // in a second
	seconds := float64(s.UTime+s.STime+uint(s.CUTime)+uint(s.CSTime)) / ticks
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return seconds
	}
	for _, thread := range threads {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, thread.PID)) // It has no children if it has ended.
		for _, child := range strings.Fields(string(children)) {
			id, err := strconv.Atoi(child)
			l.must(err)
			seconds += l.busy(id)
		}
	}
	return seconds
}
