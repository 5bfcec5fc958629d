package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
)

var update = flag.Bool("update", false, "write the golden files and docs/result-schema.*")

func seconds(n int) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// chassis is the result of a modelled chassis of 256 ports of 100G.
func chassis() *Document {
	row := func(size int32, fps, ppm, minNs, avgNs, maxNs, jitterAvg, jitterMax int64) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{
			RowID:  v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: size},
			Frames: &v1alpha1.FrameSection{LineRatePPM: ppm, Duplicate: new(int64), Reordered: new(int64), OutOfSequence: new(int64), FramesPerSecond: fps, BitsPerSecond: fps * int64(size) * 8, OfferedFramesPerSecond: fps, Sent: fps * 60, Received: fps * 60, TrialMilliseconds: 60_000}, Trials: 12, ElapsedMilliseconds: 254_000,
			Latency:  &v1alpha1.LatencySummary{MinNs: minNs, AvgNs: avgNs, MaxNs: maxNs, JitterAvgNs: &jitterAvg, JitterMaxNs: &jitterMax},
			Validity: v1alpha1.ValiditySimulated,
		}
	}
	ports := make([]v1alpha1.PortEnvironment, 64)
	for i := range ports {
		ports[i] = v1alpha1.PortEnvironment{Name: "p1", Speed: "100G"}
	}
	ports[1].Name = "p2"
	start := metav1.NewTime(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	benchmark := objects.Benchmark("team-routing", "chassis",
		objects.UID("8b3f"), objects.BedName("nexus9508"), objects.ProfileName("ipv4-pairs"),
		objects.Tests(objects.Throughput(v1alpha1.ThroughputTest{
			Search: v1alpha1.SearchBinary, Resolution: "0.1%", MinLoad: "0.1%", MaxLoad: "99.994%",
			TrialDuration: seconds(60), SearchTrialDuration: seconds(10),
		})),
		objects.Pauses(2*time.Second, 5*time.Second),
		objects.BenchmarkStatus(v1alpha1.BenchmarkStatus{
			Phase: v1alpha1.PhaseMeasured, Message: "all 3 rows were measured", TestBedName: "nexus9508", StartTime: &start,
			Results: &v1alpha1.ResultSummary{Inputs: []v1alpha1.SnapshotSource{
				{Kind: v1alpha1.SnapshotTrafficProfile, Name: "ipv4-pairs", UID: "11", Generation: 1, SHA256: strings.Repeat("1", 64)},
				{Kind: v1alpha1.SnapshotTestBed, Name: "nexus9508", UID: "22", Generation: 7, SHA256: strings.Repeat("2", 64)},
				{Kind: v1alpha1.SnapshotConfigMap, Name: "nexus9508", UID: "33", SHA256: strings.Repeat("3", 64)},
			}},
		}),
	)
	table := v1alpha1.ModelSource{ConfigMapRef: v1alpha1.ConfigMapKeyReference{Name: "nexus9508", Key: "nexus9508.csv"}}
	return New(Content{
		Benchmark: benchmark,
		Rows: []v1alpha1.ResultRow{
			row(64, 26547619822, 696875, 1510, 2377, 4240, 129, 1720),
			row(1518, 2080499424, 999940, 1650, 2928, 5160, 110, 2020),
			row(9216, 346449554, 999940, 2650, 6828, 15650, 463, 10360),
		},
		Environment: &v1alpha1.ResultEnvironment{
			NoDropVersion: "v0.1.0", Engine: v1alpha1.EngineSim, EngineDetail: "modelled device in simulated time",
			LatencyType: "FIFO, as the model says", Device: "modelled from nexus9508_rfc2544_ipv4_unicast.csv", Ports: ports, PortCount: 256,
			Hosts: []v1alpha1.HostEnvironment{{Name: "lab-1", Kernel: "6.18.5", CPU: "Some CPU @ 2.10GHz", CPUs: 2}},
		},
		Profile: objects.TrafficProfile("", "", objects.ProfileSpec(v1alpha1.TrafficProfileSpec{
			FrameSizes: []int32{64, 1518, 9216},
			Pattern:    v1alpha1.Pattern{Pairs: &v1alpha1.PairsPattern{}},
			Packet: v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{HostsPerPort: 1}, UDP: &v1alpha1.UDPPacket{
				SourcePorts: &v1alpha1.PortRange{First: 20001, Count: 8000}, DestinationPorts: &v1alpha1.PortRange{First: 9, Count: 1}}},
		})),
		Bed: objects.TestBed("",
			objects.Device(v1alpha1.Device{Simulated: &v1alpha1.SimulatedDevice{Model: table}}), objects.Sim(256, "100G"),
			objects.Access(v1alpha1.AccessGrant{Names: []string{"team-secret"}}),
		),
		ConfigMaps: map[string]*corev1.ConfigMap{"nexus9508": {
			Data:       map[string]string{"nexus9508.csv": "size,capacity\n64,69.6875%\n", "a.txt": " two\tlines: #1\n\n"},
			BinaryData: map[string][]byte{"license.key": {0, 1, 255}},
		}},
	})
}

// router is the result of a software router, with everything that can go wrong.
func router() *Document {
	d := chassis()
	virtual := []string{"the device is software on processors that it shares with the tester"}
	bound := []string{"p1 sent 1,480,000 frames/s of 1,488,095 intended"}
	one := false
	d.Benchmark = Identity{Namespace: "default", Name: "router"}
	d.Phase, d.Message, d.TestBed = v1alpha1.PhaseFailed, "the device forwarded nothing at 1518 B", "frr-router"
	d.Notes = []string{"the device was a Linux router in a network namespace, in place of the containerlab topology frr-router/topology.clab.yaml; its figures are not those of the containerlab device"}
	d.Profile.Pattern.Pairs.Bidirectional = &one
	d.Profile.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{HostsPerPort: 16}}
	d.Spec.Tests = append(d.Spec.Tests, v1alpha1.Test{Name: "latency", Latency: &v1alpha1.LatencyTest{TrialDuration: seconds(90)}})
	d.Rows = []v1alpha1.ResultRow{
		{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 86},
			Frames: &v1alpha1.FrameSection{LineRatePPM: 12500, FramesPerSecond: 294811, BitsPerSecond: 294811 * 86 * 8, OfferedFramesPerSecond: 294811, Duplicate: new(int64), Reordered: new(int64), OutOfSequence: new(int64), Sent: 17688660, Received: 17688660},
			Trials: 9, ElapsedMilliseconds: 61_234,
			Latency:  &v1alpha1.LatencySummary{MinNs: 9_840, AvgNs: 43_210, MaxNs: 1_234_567_891, JitterAvgNs: new(int64(4_001)), JitterMaxNs: new(int64(1_234_000_000))},
			Validity: v1alpha1.ValidityVirtual, ValidityReasons: virtual},
		{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 1518},
			Frames: &v1alpha1.FrameSection{},
			Trials: 10, ElapsedMilliseconds: 3_000,
			Validity: v1alpha1.ValidityVirtual, ValidityReasons: virtual,
			Message: "no test frame came back on p2 in 5 s; ARP for 198.18.2.1 was not answered on p2: check the device's address, and that the link is up"},
		{RowID: v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 86, Load: "50%"},
			Frames:   &v1alpha1.FrameSection{LineRatePPM: 500_000, FramesPerSecond: 1488095, BitsPerSecond: 1488095 * 86 * 8, OfferedFramesPerSecond: 1_480_000, Sent: 88800000, Received: 88799999, Lost: 1, Duplicate: new(int64(3)), Reordered: new(int64(120)), OutOfSequence: new(int64)},
			Trials:   1,
			Latency:  &v1alpha1.LatencySummary{MinNs: 9_840, AvgNs: 43_210, MaxNs: 134_567, JitterAvgNs: new(int64(4_001)), JitterMaxNs: new(int64(99_000))},
			Validity: v1alpha1.ValidityGeneratorBound, ValidityReasons: bound},
		{RowID: v1alpha1.RowID{Test: "latency", Method: v1alpha1.MethodLatency, FrameSize: 86, Load: "throughput"},
			Frames:   &v1alpha1.FrameSection{LineRatePPM: 12500, FramesPerSecond: 294811, BitsPerSecond: 294811 * 86 * 8, OfferedFramesPerSecond: 294811, Sent: 26532990, Received: 26500000, Lost: 32990},
			Trials:   1,
			Latency:  &v1alpha1.LatencySummary{MinNs: 9_840, AvgNs: 43_210, MaxNs: 134_567, TimedFrames: new(int64(59_927))},
			Validity: v1alpha1.ValidityVirtual, ValidityReasons: virtual},
	}
	d.Environment = &v1alpha1.ResultEnvironment{
		NoDropVersion: "v0.1.0", Engine: v1alpha1.EngineXDP, EngineDetail: "XDP live frames, native receive",
		LatencyType: "from just before a frame is handed to the driver to its arrival in XDP", Device: "Linux router in a network namespace",
		Ports: []v1alpha1.PortEnvironment{
			{Name: "p1", Interface: "p1", Driver: "veth", MAC: "02:00:00:00:01:02", Speed: "10G", Addresses: []string{"198.18.1.2/24", "2001:2:0:1::2/64"}},
			{Name: "p2", Interface: "nd-p2", Driver: "veth", MAC: "02:00:00:00:02:02", Speed: "10G", Addresses: []string{"198.18.2.2/24", "2001:2:0:2::2/64"}},
		},
		Hosts: []v1alpha1.HostEnvironment{{Name: "lab-1", Kernel: "6.18.5", CPU: "Some CPU @ 2.10GHz", CPUs: 2, TesterCPUs: "0", DeviceCPUs: "1"}},
	}
	return d
}

func aborted() *Document {
	b := objects.Benchmark("default", "early")
	b.Spec.Tests = []v1alpha1.Test{{Name: "latency", Latency: &v1alpha1.LatencyTest{TrialDuration: seconds(3600)}}}
	b.Status.Phase, b.Status.Message = v1alpha1.PhaseAborted, "spec.abort was set"
	return New(Content{Benchmark: b})
}

func TestGolden(t *testing.T) {
	endings := map[Format]string{FormatTable: "txt", FormatJSON: "json", FormatYAML: "yaml", FormatHTML: "html", FormatMarkdown: "md", FormatCSV: "csv", FormatJUnit: "xml", FormatGitHub: "github", FormatSARIF: "sarif"}
	for name, document := range allDocuments() {
		for _, format := range Formats() {
			ending := endings[format]
			t.Run(name+"."+ending, func(t *testing.T) {
				var got bytes.Buffer
				if err := document.Write(&got, format); err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", name+"."+ending), unstyled(got.String()))
			})
		}
	}
}

// unstyled leaves the style out, which says nothing about a document.
func unstyled(text string) string { return strings.Replace(text, string(style), "/* style.css */", 1) }

// golden compares text with a file, and writes the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what it was (-want +got); if this is right, run go test ./internal/reporting/report -update\n%s", path, diff)
	}
}

func TestTableFitsTheScreen(t *testing.T) {
	for name, document := range allDocuments() {
		for _, line := range strings.Split(document.Text(), "\n") {
			if len(line) > 120 {
				t.Errorf("%s: %d columns: %s", name, len(line), line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: spaces at the end of %q", name, line)
			}
		}
	}
}

func TestDocumentSurvivesItsEncodings(t *testing.T) {
	want := router()
	for format, decode := range map[Format]func([]byte, any) error{
		FormatJSON: json.Unmarshal,
		FormatYAML: func(text []byte, target any) error { return yaml.UnmarshalStrict(text, target) },
	} {
		var text bytes.Buffer
		if err := want.Write(&text, format); err != nil {
			t.Fatal(err)
		}
		var got Document
		if err := decode(text.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if contained, computed, err := Digests(text.Bytes()); err != nil || contained == "" || contained != computed || contained != got.ContentDigest {
			t.Errorf("%s: contentDigest is %q, and the content has %q: %v", format, contained, computed, err)
		}
		got.ContentDigest = ""
		if diff := cmp.Diff(want, &got); diff != "" {
			t.Errorf("%s:\n%s", format, diff)
		}
	}
}

// The digits of a published report, from the frames per second.
func TestPublishedDigits(t *testing.T) {
	tests := []struct {
		size, fps int64
		tbit      string
	}{
		{64, 26547619822, "13.592"}, {128, 21620325127, "22.139"}, {256, 11593507676, "23.744"},
		{512, 6014676912, "24.636"}, {1024, 3064950302, "25.108"}, {1280, 2461390858, "25.205"},
		{1518, 2080499424, "25.266"}, {9216, 346449554, "25.543"}, {64, 37944153121, "19.427"},
	}
	for _, test := range tests {
		bits := test.fps * test.size * 8
		if got := layout.Fixed(bits, layout.UnitFor(bits).Bits, 3); got != test.tbit || layout.UnitFor(bits).Name != "Tbit/s" {
			t.Errorf("%d B: %s %s, want %s Tbit/s", test.size, got, layout.UnitFor(bits).Name, test.tbit)
		}
	}
}

func TestUnitFor(t *testing.T) {
	for highest, want := range map[int64]string{
		0: "Mbit/s", 999_999_999: "Mbit/s", 1_000_000_000: "Gbit/s", 999_999_999_999: "Gbit/s", 1_000_000_000_000: "Tbit/s",
	} {
		if got := layout.UnitFor(highest).Name; got != want {
			t.Errorf("unitFor(%d) = %s, want %s", highest, got, want)
		}
	}
}

func TestFixed(t *testing.T) {
	tests := []struct {
		n, unit  int64
		decimals int
		want     string
	}{
		{0, 1000, 3, "0.000"}, {1, 1000, 3, "0.001"}, {1510, 1000, 3, "1.510"}, {1_234_567_891, 1000, 3, "1,234,567.891"},
		{999_499_999, 1_000_000_000, 3, "0.999"}, {999_500_000, 1_000_000_000, 3, "1.000"},
		{499_999, 1_000_000_000, 3, "0.000"}, {500_000, 1_000_000_000, 3, "0.001"},
		{696875, 10_000, 4, "69.6875"}, {1_000_000, 10_000, 4, "100.0000"}, {1, 10_000, 4, "0.0001"},
	}
	for _, test := range tests {
		if got := layout.Fixed(test.n, test.unit, test.decimals); got != test.want {
			t.Errorf("fixed(%d, %d, %d) = %s, want %s", test.n, test.unit, test.decimals, got, test.want)
		}
	}
}

func TestGroup(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 26547619822: "26,547,619,822", -1234: "-1,234", 100000: "100,000"} {
		if got := layout.Group(n); got != want {
			t.Errorf("group(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestShareNeverHidesALoss(t *testing.T) {
	tests := []struct {
		part, whole int64
		want        string
	}{
		{0, 10, "0%"}, {1, 4, "25%"}, {1, 3, "33.3333%"}, {1, 88_800_000, "0.000001%"}, {10, 10, "100%"}, {1, 0, "0%"},
	}
	for _, test := range tests {
		if got := layout.Share(test.part, test.whole); got != test.want {
			t.Errorf("share(%d, %d) = %s, want %s", test.part, test.whole, got, test.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		100 * time.Millisecond: "100ms", 10 * time.Second: "10s", time.Minute: "1m", time.Hour: "1h",
		254*time.Second + 400*time.Millisecond: "4m14s", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", 0: "0s",
	} {
		if got := layout.Span(d); got != want {
			t.Errorf("span(%d ns) = %s, want %s", d, got, want)
		}
	}
}

func TestRowLine(t *testing.T) {
	rows := router().Rows
	for i, want := range []string{
		"throughput 86 B: 294,811 frames/s, 202.830 Mbit/s, 1.2500% of line rate, latency 43.210 us on average, Virtual",
		"throughput 1518 B: 0 frames/s, 0.000 Mbit/s, 0.0000% of line rate, Virtual, no test frame came back on p2 in 5 s; ARP for 198.18.2.1 was not answered on p2: check the device's address, and that the link is up",
		"latency 86 B at 50%: 1,480,000 frames/s, 1.018 Gbit/s, 49.7280% of line rate (of an intended 50.0000%), latency 43.210 us on average, 1 frames lost, GeneratorBound",
	} {
		if got := RowLine(rows[i]); got != want {
			t.Errorf("row %d: %s\nwant %s", i, got, want)
		}
	}
}

// A partial drop rate stands next to the throughput and is not called so.
func TestPartialDropRatesAreNamed(t *testing.T) {
	d := chassis()
	d.Spec.Tests[0].Throughput.Search = v1alpha1.SearchMLRsearch
	pdr := *d.Rows[0].DeepCopy()
	pdr.Method, pdr.LossRatioPPM, pdr.Frames.Lost = v1alpha1.MethodPartialDropRate, 5000, 7
	pdr.Message = "something about it"
	d.Rows = []v1alpha1.ResultRow{d.Rows[0], pdr}
	text := d.Text()
	for _, want := range []string{"64  NDR ", "64  PDR 0.5% ", "64 B PDR 0.5%: something about it", "MLRsearch (RFC 9971) between", "0.1%, shorter"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "lost 7 of") {
		t.Error("that frames are lost at a partial drop rate is no news")
	}
	if line := RowLine(pdr); !strings.HasPrefix(line, "throughput 64 B PDR 0.5%: ") {
		t.Error(line)
	}
}
