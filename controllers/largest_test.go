package controllers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/controllers/results"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/stored"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

// maxObject is the maximum size in bytes of any object that the operator writes.
const maxObject = 256 << 10

// longest is a name as long as the schema allows.
func longest(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }

// largestBed has so many ports on one node, with variants.
func largestBed(ports int) *v1alpha1.TestBed {
	bed := objects.TestBed(longest("bed", 63), objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
	bed.Spec.Engine.Kind = v1alpha1.EngineXDP
	bed.Spec.Device.Containerlab = &v1alpha1.ContainerlabDevice{Node: "dut", Topology: v1alpha1.TopologySource{
		ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "topology", Key: "topology.clab.yaml"}}}
	for i := range 16 {
		bed.Spec.Device.Variants = append(bed.Spec.Device.Variants, v1alpha1.DeviceVariant{Name: v1alpha1.VariantName(longest(fmt.Sprintf("v%d-", i), 63))})
	}
	for i := range ports {
		at := netip.AddrFrom4([4]byte{198, 18 + byte(i>>8), byte(i), 2})
		bed.Spec.Ports = append(bed.Spec.Ports, v1alpha1.Port{
			Name: fmt.Sprintf("ethernet-1-%d", i), Node: "node-1.lab.example.com", Speed: "100G",
			Addresses: []string{at.String() + "/24", fmt.Sprintf("2001:2:0:%x::2/64", i)}, Gateways: []string{at.Prev().String(), fmt.Sprintf("2001:2:0:%x::1", i)},
			Attachment: &v1alpha1.Attachment{HostDevice: &v1alpha1.HostDeviceAttachment{Interface: fmt.Sprintf("enp%ds0f%dnp1", i, i%8)}},
		})
	}
	return bed
}

// largestRows are one row of each kind, as large as its lists can be with 256 ports.
func largestRows() map[string]v1alpha1.ResultRow {
	rates, number := make([]int64, 240), int64(148_809_523)
	for i := range rates {
		rates[i] = number
	}
	row := func(change func(*v1alpha1.ResultRow)) v1alpha1.ResultRow {
		r := v1alpha1.ResultRow{
			RowID:    v1alpha1.RowID{Test: longest("t", 63), Variant: v1alpha1.VariantName(longest("v", 63)), Method: v1alpha1.MethodHeadOfLineBlocking, FrameMix: longest("m", 63), Load: "99.9999%"},
			Validity: v1alpha1.ValidityGeneratorBound, Message: strings.Repeat("m", 1024),
			Frames:  &v1alpha1.FrameSection{LineRatePPM: 1_000_000, FramesPerSecond: number, BitsPerSecond: number << 10, Sent: 1 << 60, Received: 1 << 60, Duplicate: &number, Reordered: &number},
			Search:  &v1alpha1.SearchSummary{Method: v1alpha1.SearchMLRsearch, Start: strings.Repeat("s", 253), Goal: &v1alpha1.GoalResult{Name: "NDR"}},
			Latency: &v1alpha1.LatencySummary{MinNs: number, AvgNs: number, MaxNs: number, P50Ns: number, P90Ns: number, P99Ns: number, P999Ns: number},
		}
		for range 8 {
			r.ValidityReasons = append(r.ValidityReasons, strings.Repeat("r", 256))
		}
		change(&r)
		return r
	}
	var ports []v1alpha1.PortDelay
	var iterations []v1alpha1.AddressIteration
	for i := range 256 {
		ports = append(ports, v1alpha1.PortDelay{Port: fmt.Sprintf("ethernet-1-%d", i), AvgNs: number, MinNs: number, MaxNs: number})
		iterations = append(iterations, v1alpha1.AddressIteration{Addresses: 1 << 20, LearningFramesPerSecond: number, Sent: number, Received: number, Flooded: number})
	}
	return map[string]v1alpha1.ResultRow{
		"plain": row(func(*v1alpha1.ResultRow) {}),
		"series": row(func(r *v1alpha1.ResultRow) {
			r.Series = &v1alpha1.RateSeries{Samples: 1 << 20, Points: v1alpha1.RatePoints{EndMilliseconds: rates, SentFramesPerSecond: rates, ReceivedFramesPerSecond: rates, MinReceivedFramesPerSecond: rates}}
		}),
		"group delay": row(func(r *v1alpha1.ResultRow) {
			r.GroupDelay = &v1alpha1.GroupDelaySummary{Protocol: "IGMPv3", Ports: ports}
		}),
		"address caching": row(func(r *v1alpha1.ResultRow) {
			r.AddressCaching = &v1alpha1.AddressCachingSummary{Iterations: iterations}
		}),
		"address learning": row(func(r *v1alpha1.ResultRow) {
			r.AddressLearning = &v1alpha1.AddressLearningSummary{Iterations: iterations}
		}),
	}
}

// largestEnvironment lists 64 ports and a calibration of all sizes.
func largestEnvironment() *v1alpha1.ResultEnvironment {
	e := &v1alpha1.ResultEnvironment{Engine: v1alpha1.EngineXDP, EngineDetail: strings.Repeat("d", 1024), Device: strings.Repeat("d", 1024), PortCount: 256}
	c := &v1alpha1.CalibrationStatus{Benchmark: strings.Repeat("b", 317), TestBedName: longest("bed", 63)}
	for i := range 256 {
		c.Interfaces = append(c.Interfaces, fmt.Sprintf("node-1.lab.example.com/enp%ds0f0np1", i))
	}
	for i := range 80 {
		c.FrameSizes = append(c.FrameSizes, v1alpha1.CalibratedFrameSize{FrameSize: int32(64 + i), LineRatePPM: 999_940, UpperBoundPPM: 1_000_000, FramesPerSecond: 1 << 40,
			Latency: &v1alpha1.LatencySummary{MinNs: 1 << 30, AvgNs: 1 << 30, MaxNs: 1 << 30, P50Ns: 1 << 30, P90Ns: 1 << 30, P99Ns: 1 << 30, P999Ns: 1 << 30}})
	}
	e.Calibration = c
	for i := range 16 {
		e.Variants = append(e.Variants, v1alpha1.VariantEnvironment{Name: v1alpha1.VariantName(longest(fmt.Sprintf("v%d-", i), 63)), Device: strings.Repeat("d", 512)})
		e.Hosts = append(e.Hosts, v1alpha1.HostEnvironment{Name: longest(fmt.Sprintf("h%d-", i), 63), Kernel: "6.18.0-generic", CPU: strings.Repeat("c", 64)})
	}
	for i := range 64 {
		e.Ports = append(e.Ports, v1alpha1.PortEnvironment{Name: fmt.Sprintf("ethernet-1-%d", i), Interface: "enp129s0f0np1", Driver: "mlx5_core", MAC: "02:00:00:00:00:00",
			Addresses: []string{"198.18.1.2/24", "2001:2:0:1::2/64"},
			Card: &v1alpha1.CardEnvironment{DriverVersion: "6.18.0-generic", Firmware: "28.43.1014 (MT_0000000838)", PCIe: "16.0 GT/s PCIe x16", NUMANode: new(int32(1)), InterruptCPUs: "0-31,64-95",
				ReceiveRing: 8192, TransmitRing: 8192, Coalescing: "receive adaptive, transmit 16 µs or 32 frames", ReceiveQueues: 64, TestQueue: new(int32(63)), Pause: "receive and send"}})
	}
	return e
}

// TestLargestObjects writes everything at its largest, and prints how large each kind
// of object becomes.
func TestLargestObjects(t *testing.T) {
	largest := map[string]int{}
	see := func(kind string, object any) {
		t.Helper()
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		largest[kind] = max(largest[kind], len(text))
	}
	bed := largestBed(256)
	b := objects.Benchmark(longest("ns", 63), longest("b", 253), objects.UID("0f8fad5b-d9cb-469f-a165-70867728950e"))
	b.Spec.TestBedName, b.Spec.TrafficProfileName = bed.Name, longest("p", 253)
	for _, v := range bed.Spec.Device.Variants {
		b.Spec.Variants = append(b.Spec.Variants, v.Name)
	}
	profile := objects.TrafficProfile("", longest("p", 253))
	for i := range 64 {
		profile.Spec.FrameSizes = append(profile.Spec.FrameSizes, int32(64+i))
	}
	profile.Spec.Pattern.FullMesh = &v1alpha1.FullMeshPattern{}
	for i := range 32 {
		b.Spec.Tests = append(b.Spec.Tests, v1alpha1.Test{Name: longest(fmt.Sprintf("t%d-", i), 63), Throughput: &v1alpha1.ThroughputTest{}})
	}

	// Rows of every kind, in every test and variant.
	s := kit.NewScope(b, time.Now(), kit.NewTimers())
	var summary v1alpha1.ResultSummary
	for kind, row := range largestRows() {
		l := results.New(b)
		for _, v := range b.Spec.Variants[:1] {
			for _, test := range b.Spec.Tests {
				for size := range int32(16) {
					row.Test, row.Variant, row.FrameSize = test.Name, v, 64+size
					if _, err := l.Add(row); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		l.SetEnvironment(largestEnvironment())
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Write(func(part *v1alpha1.BenchmarkResult) error {
			if part.Spec.Environment != nil {
				see("BenchmarkResult with the environment", part)
			} else {
				see("BenchmarkResult with rows: "+kind, part)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		l.Summarize(&summary)
	}

	// Snapshots: beds of 256 and 1024 ports, and files that cannot be compressed.
	noise := make([]byte, 1<<20-1024)
	random := rand.NewChaCha8([32]byte{9})
	_, _ = random.Read(noise)
	files := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: longest("files", 253)}, BinaryData: map[string][]byte{"image": noise}}
	for kind, input := range map[string]any{"profile": profile, "bed of 256 ports": bed, "bed of 1024 ports": largestBed(1024), "ConfigMap of 1 MiB": files} {
		parts, err := stored.Snapshot(b, v1alpha1.SnapshotSource{Kind: v1alpha1.SnapshotConfigMap, Name: longest("n", 253), UID: string(b.UID)}, input)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			see("BenchmarkSnapshot of a "+kind, &part)
		}
		source := parts[0].Spec.Source
		for range 6 {
			summary.Inputs = append(summary.Inputs, source)
		}
	}

	// The status, with every condition and every text at its longest.
	s.Status.Results, s.Status.Message = &summary, kit.Bounded(strings.Repeat("m", 5000))
	for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionBedLeased, v1alpha1.ConditionDeviceReady, v1alpha1.ConditionTrafficReady,
		v1alpha1.ConditionMeasured, v1alpha1.ConditionCleanedUp, "Succeeded", "Reconciling", "Stalled"} {
		s.Set(kind, metav1.ConditionFalse, v1alpha1.ReasonAnswerRefused, strings.Repeat("m", 5000))
	}
	s.Status.Progress = &v1alpha1.Progress{Summary: strings.Repeat("s", 256), Trial: strings.Repeat("t", 256), RowTrials: slices.Repeat([]v1alpha1.ProgressTrial{{LoadPPM: 1_000_000, Verdict: v1alpha1.TrialPassed}}, v1alpha1.MaxRowTrials)}
	s.Status.Message = kit.Bounded(s.Status.Message)
	summary.Archive = &v1alpha1.ArchiveReference{URL: strings.Repeat("u", 1024), SHA256: strings.Repeat("a", 64)}
	see("Benchmark status", &s.Status)
	if n := largest["Benchmark status"]; n > 32<<10 {
		t.Errorf("a status of %d bytes, more than 32 KiB", n)
	}

	// What runs in the lab.
	for i := range noise {
		noise[i] = ' ' + noise[i]%95
	}
	table := func(i int) string { return string(noise[i*kit.MaxTable : (i+1)*kit.MaxTable]) }
	profile.Spec.Packet.IPv4 = &v1alpha1.IPPacket{HostsPerPort: 4096}
	settings, run := labobjects.Settings{Namespace: "nodrop-lab", Image: "nodrop:test", DeviceImage: "nodrop-device:test"}, labobjects.RunOf(b)
	agents := labobjects.Agents(bed)
	cfg := runner.Config{Benchmark: *b, Profile: *profile, Bed: *bed, Variant: b.Spec.Variants[0], Calibration: largestEnvironment().Calibration,
		Model: table(0), JitterAverageByLoad: table(1), JitterMaximumByLoad: table(2)}
	for _, a := range agents {
		cfg.Agents = append(cfg.Agents, a.Endpoint(run, "10.1.2.3"))
		sec, err := labobjects.AgentSecret(settings, run, a, bed, profile, nil)
		if err != nil {
			t.Fatal(err)
		}
		see("Secret of an agent", sec)
		pod, err := labobjects.AgentPod(settings, run, a, bed)
		if err != nil {
			t.Fatal(err)
		}
		see("Pod of an agent", pod)
	}
	sec, err := labobjects.RunnerSecret(settings, run, cfg, 4)
	if err != nil {
		t.Fatal(err)
	}
	see("Secret of the runner", sec)
	see("Pod of the runner", labobjects.RunnerPod(settings, run, 4))
	topology := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: longest("topology", 253)}, BinaryData: map[string][]byte{"topology.clab.yaml": nil}}
	for i := range 100 {
		topology.BinaryData[longest(fmt.Sprintf("f%d-", i), 253)] = make([]byte, 176<<10/100-253-1)
	}
	device, err := labobjects.DeviceSecret(settings, run, bed, topology, nil)
	if err != nil {
		t.Fatal(err)
	}
	see("Secret of the device", device)
	set, err := pki.Issue(run.UID, 256, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, sec := range labobjects.CertificatesSecrets(settings, run, set) {
		see("Secret of certificates of 256 nodes", sec)
	}

	status := v1alpha1.TestBedStatus{Calibration: largestEnvironment().Calibration, Lease: &v1alpha1.BedLease{Holder: strings.Repeat("h", 317), UID: run.UID}}
	for range 4 {
		status.Conditions = append(status.Conditions, metav1.Condition{Type: "Ready", Message: kit.Bounded(strings.Repeat("m", 5000))})
	}
	see("TestBed status", &status)

	var kinds []string
	for kind, n := range largest {
		kinds = append(kinds, kind)
		if n > maxObject {
			t.Errorf("%s has %d bytes, more than %d", kind, n, maxObject)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return largest[b] - largest[a] })
	for _, kind := range kinds {
		t.Logf("%7d bytes  %s", largest[kind], kind)
	}
}
