package main

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic/sim"
)

const samplesDir = "../../config/samples"

// Every sample on a simulated bed runs from its manifest to its report.
func TestSamplesOnTheSimulatedEngine(t *testing.T) {
	sendsNoFrames(t)
	files, err := filepath.Glob(filepath.Join(samplesDir, "*", "*benchmark.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		// Those of the published tables are run, and held to every digit, next to the
		// runner: two of them send 65,280 streams.
		if !simulatedSample(t, dir) || name == "reference" {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			p := start(t, "run", "-f", file, "-o", "json")
			p.wants(exit.Passed, "", "")
			var document report.Document
			if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
				t.Fatalf("%v\n%s", err, &p.stdout)
			}
			if len(document.Rows) == 0 {
				t.Fatal("no row was measured")
			}
			seen := map[v1alpha1.RowID]bool{}
			for _, row := range document.Rows {
				if seen[row.RowID] {
					t.Errorf("two rows are %s", row.Name())
				}
				seen[row.RowID] = true
			}
			if check := sampleChecks[name]; check != nil {
				check(t, document.Rows)
			}
			if name == "variants" {
				publishedDifferences(t, document.Differences)
			}
		})
	}
	if ran < len(sampleChecks) {
		t.Errorf("%d samples ran, want at least the %d that are checked", ran, len(sampleChecks))
	}
}

func simulatedSample(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "kind: sim\n") {
			return true
		}
	}
	return false
}

// sampleChecks hold what each sample says in its first lines.
var sampleChecks = map[string]func(*testing.T, []v1alpha1.ResultRow){
	"ethernet":  rates(829_613_095, 187_958_647, 65_015_605),
	"ipv4-mesh": rates(829_613_095, 187_958_647),
	"ipv6":      rates(37_735_849, 3_250_780),
	"multicast": func(t *testing.T, rows []v1alpha1.ResultRow) {
		rates(1_041_604_167, 164_463_816)(t, rows)
		// A quarter of 148,800,595.238 frames/s for 60 s, to the frame, at 7 ports.
		want := v1alpha1.MulticastSummary{Groups: 4, Receivers: 7, MinFrames: 7 * 2_232_008_928, MaxFrames: 7 * 2_232_008_928,
			MinFramesPerSecond: 260_401_042, MaxFramesPerSecond: 260_401_042}
		if m := rows[0].Multicast; m == nil || !reflect.DeepEqual(*m, want) {
			t.Errorf("groups: %+v, want %+v", m, want)
		}
	},
	"mixed-class": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 4 || rows[0].Frames.LineRatePPM != 675_000 || rows[1].Frames.LineRatePPM != v1alpha1.PPM {
			t.Fatalf("%d rows: %+v", len(rows), rows)
		}
		// 67.5 % of 14,880,952.38 frames/s are 10,044,642.86: half of them at 3 ports, half at one.
		want := v1alpha1.ClassSummary{OfferedFramesPerSecond: 5_022_321, ReceivedFramesPerSecond: 15_066_964}
		c := rows[0].Classes
		if c == nil || c.Multicast.OfferedFramesPerSecond != want.OfferedFramesPerSecond || c.Multicast.ReceivedFramesPerSecond != want.ReceivedFramesPerSecond ||
			c.Unicast.OfferedFramesPerSecond != want.OfferedFramesPerSecond || c.Unicast.ReceivedFramesPerSecond != want.OfferedFramesPerSecond || c.Multicast.Lost+c.Unicast.Lost != 0 {
			t.Fatalf("classes: %+v", c)
		}
		if m := rows[0].Multicast; m == nil || m.Groups != 6 || m.Receivers != 3 || c.Multicast.Received != 3*c.Multicast.Sent || c.Unicast.Received != c.Unicast.Sent || rows[0].Frames.Sent != c.Multicast.Sent+c.Unicast.Sent {
			t.Errorf("%+v of %+v", c, rows[0].Frames)
		}
	},
	"microflows": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) < 2 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			m, lossy := row.Microflows, row.Load == "80%"
			if m == nil || m.Tracked != 2*100_250 || m.Silent+m.Unsent != 0 || (m.Lossy == m.Tracked) != lossy || (m.Lossy == 0) == lossy {
				t.Errorf("%s: %+v", row.Name(), m)
			}
		}
	},
	"flows": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 6 || rows[0].Frames.LineRatePPM != 800_000 || rows[0].FrameSize != 512 {
			t.Fatalf("%d rows: %+v", len(rows), rows)
		}
		// At 80 % of 10G voice is 8 % in frames of 218 bytes from both ports, video 48 % in
		// frames of 1374 and bulk 16 % in frames of 512, with 20 bytes of gap each.
		rates := map[string]int64{"voice": 2 * 420_168, "video": 430_416, "bulk": 375_940}
		loads := map[string]int64{"voice": 80_000, "video": 480_000, "bulk": 160_000}
		if got := rows[0].Frames.PortLoad; got == nil || *got != (v1alpha1.PortLoad{LowestPPM: 240_000, HighestPPM: 560_000}) {
			t.Errorf("ports offered %+v, want 24%% and 56%% of line rate", got)
		}
		sum := int64(0)
		for i, name := range []string{"voice", "video", "bulk"} {
			f := rows[0].Flows[i]
			if f.PortLoad == nil || *f.PortLoad != (v1alpha1.PortLoad{LowestPPM: loads[name], HighestPPM: loads[name]}) {
				t.Errorf("flow %s offered %+v, want %d ppm", name, f.PortLoad, loads[name])
			}
			if l := f.Latency; l == nil || l.MinNs > l.P50Ns || l.P50Ns > l.P90Ns || l.P90Ns > l.P99Ns || l.P99Ns > l.P999Ns || l.P999Ns > l.MaxNs || l.P50Ns == 0 {
				t.Errorf("flow %s has the latency %+v", name, l)
			}
			if f.Name != name || f.OfferedFramesPerSecond != rates[name] || f.ReceivedFramesPerSecond != rates[name] || f.Lost != 0 || f.Latency == nil {
				t.Errorf("flow %+v, want %s at %d frames/s", f, name, rates[name])
			}
			sum += f.Sent
		}
		if rows[0].Frames.Sent != sum || rows[0].Classes != nil {
			t.Errorf("the flows sent %d frames, and the row %d", sum, rows[0].Frames.Sent)
		}
		// 16 % of 10G times 218/238, 48 % times 1374/1394, and 16 % times 512/532.
		if got := rows[0].Frames.BitsPerSecond; got != 7_736_529_272 {
			t.Errorf("%d bit/s", got)
		}
	},
	"n-to-n": func(t *testing.T, rows []v1alpha1.ResultRow) {
		rates(829_613_095, 187_958_647)(t, rows)
		if m := rows[0].Multicast; m == nil || m.Groups != 8 || m.Receivers != 7 || m.MinFrames >= m.MaxFrames {
			t.Errorf("groups: %+v", m)
		}
	},
	"frame-loss": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 45 of 100 parts pass: of 90 half are lost. After two loads without loss the
		// test is over.
		want := []struct {
			size int32
			load v1alpha1.Load
			loss int64
		}{
			{64, "100%", 550_000}, {64, "90%", 500_000}, {64, "80%", 437_500}, {64, "70%", 357_143},
			{64, "60%", 250_000}, {64, "50%", 100_000}, {64, "40%", 0}, {64, "30%", 0}, {1518, "100%", 0}, {1518, "90%", 0},
		}
		if len(rows) != len(want) {
			t.Fatalf("%d rows, want %d", len(rows), len(want))
		}
		for i, w := range want {
			if r := rows[i]; r.FrameSize != w.size || r.Load != w.load || r.Frames.LossPPM == nil || *r.Frames.LossPPM != w.loss {
				t.Errorf("row %d: %+v, want %+v", i, r, w)
			}
		}
	},
	"back-to-back": func(t *testing.T, rows []v1alpha1.ResultRow) {
		burst := rows[2].BackToBack
		if burst == nil || burst.Repetitions != 50 || burst.MinFrames < 3968 || burst.MaxFrames > 4033 || burst.AvgFrames < burst.MinFrames || burst.StddevFrames == 0 {
			t.Fatalf("bursts %+v, want about 4000 frames in 50 repetitions", burst)
		}
		// 1,000 frames are 67.2 us; the throughput of the noisy device is a little low.
		if burst.CorrectedBufferNs == nil || *burst.CorrectedBufferNs < 67_000 || *burst.CorrectedBufferNs > 68_000 || burst.BufferNs < 266_000 || burst.BufferNs > 271_000 {
			t.Errorf("buffer %+v", burst)
		}
		if r := rows[3]; r.BackToBack != nil || !strings.Contains(r.Message, "line rate") {
			t.Errorf("at line rate: %+v", r)
		}
	},
	"rocev2": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 4 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			f, marked := row.Frames, int64(0)
			if row.Test == "congested" {
				marked = 200_000
			}
			if f.Congested == nil || f.CongestedPPM == nil || *f.CongestedPPM != marked || f.Received == 0 || *f.Congested*v1alpha1.PPM/f.Received > marked {
				t.Errorf("%s: %+v, want %d ppm marked", row.Name(), f, marked)
			}
			// 4 streams of 10 s. A mark is answered if none before it in 50 µs was.
			if c := f.CNP; c == nil || c.Sent != c.Received || (c.Sent > 0) != (marked > 0) || c.Sent > 4*10*20_000 || marked > 0 && c.Sent < 4*10*19_000 {
				t.Errorf("%s: answers %+v", row.Name(), c)
			}
		}
	},
	"soak": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if r := rows[0]; *r.Frames.LossPPM != 1 || r.Frames.TrialMilliseconds != 12*3600*1000 || *r.Frames.ReceivedFramesPerSecond != 29_761_875 {
			t.Errorf("soak: %+v", r)
		}
		// 69.6875 % of 4 ports of 10G, less one frame in a million of those sent.
		if r := rows[1]; *r.Frames.ReceivedFramesPerSecond != 41_480_595 || r.Frames.LineRatePPM != v1alpha1.PPM {
			t.Errorf("mrr: %+v", r)
		}
		// 720 minutes and 600 tenths of a second, three of them in a point.
		for i, want := range []struct{ samples, points, end, rate int64 }{{720, 240, 12 * 3600 * 1000, 29_761_875}, {600, 200, 60_000, 41_480_595}} {
			s := rows[i].Series
			if s == nil || int64(s.Samples) != want.samples || int64(s.Points.Len()) != want.points || s.EndMilliseconds(int(want.points-1)) != want.end || s.AvgReceivedFramesPerSecond != want.rate {
				t.Errorf("series %d: %+v", i, s)
			}
		}
	},
	"forwarding-rate": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if f := rows[0].ForwardingRate; f == nil || *f != (v1alpha1.ForwardingRateSummary{AtMaxLoad: 29_761_905, Max: 47_619_048, MaxLoadPPM: 800_000}) {
			t.Errorf("64 B: %+v", f)
		}
		// No lower load can forward more than everything: one trial is enough.
		if f := rows[1].ForwardingRate; f == nil || f.AtMaxLoad != f.Max || f.MaxLoadPPM != v1alpha1.PPM || rows[1].Trials != 1 {
			t.Errorf("512 B: %+v in %d trials", f, rows[1].Trials)
		}
	},
	"reset": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 42 s, known to the frame: of 64 bytes 67 ns at line rate.
		for i, r := range rows[2:] {
			want, off := int64(42_000_000_000), int64(0)
			if r.Test == "power" {
				want, off = 27_000_000_000, 15_000_000_000
			}
			if s := r.Reset; s == nil || s.TimestampAvgNs == nil || s.FrameLossAvgNs == nil || *s.TimestampAvgNs <= *s.FrameLossAvgNs || *s.TimestampAvgNs > want+1500 || (s.Method == v1alpha1.ResetByTimestamp) != (r.Test == "software-timestamps") || s.PowerOffNs != off || s.MinNs < want-1500 || s.MaxNs > want+1500 || s.AvgNs < s.MinNs || r.Load != "throughput" || r.Frames.Lost == 0 || r.Frames.LineRatePPM != rows[i%2].Frames.LineRatePPM {
				t.Errorf("%s %d B: %+v, %d ppm", r.Test, r.FrameSize, s, r.Frames.LineRatePPM)
			}
		}
		if len(rows) != 8 {
			t.Errorf("%d rows, want 8", len(rows))
		}
	},
	"group-delay": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 6 {
			t.Fatalf("%d rows, want 6", len(rows))
		}
		for _, r := range rows {
			d := r.GroupDelay
			want, receivers := int64(2_500_000), int32(3)
			switch r.Test {
			case "join-known":
				receivers = 2
			case "leave":
				want = 150_000_000
			}
			// The next frame of a join, the last of a leave, and its latency of 1.5 or 1.65 us.
			if d == nil || d.Repetitions != 3 || d.Groups != 1 || d.Receivers != receivers || d.Protocol != "IGMPv3" || d.MinNs != d.MaxNs || d.Unseen != 0 ||
				d.AvgNs < want-d.ResolutionNs+1500 || d.AvgNs > want+d.ResolutionNs+1700 {
				t.Errorf("%s %d B: %+v", r.Test, r.FrameSize, d)
			}
		}
	},
	"group-capacity": func(t *testing.T, rows []v1alpha1.ResultRow) {
		for _, r := range rows {
			want := v1alpha1.GroupCapacitySummary{Groups: 1000, FailedGroups: 1001, MulticastRoutes: 1000, SilentGroups: 1, Protocol: "IGMPv3", Receivers: 3}
			if r.GroupCapacity == nil || *r.GroupCapacity != want {
				t.Errorf("%d B: %+v %q", r.FrameSize, r.GroupCapacity, r.Message)
			}
		}
	},
	"multicast-routing": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 12 {
			t.Fatalf("%d rows, want 12", len(rows))
		}
		for _, r := range rows {
			switch d := r.GroupDelay; r.Test {
			case "throughput":
				// 99.994 % of 148,809,524 or 8,127,438 frames/s, at 15 ports.
				if want := map[int32]int64{64: 2_232_008_929, 1518: 121_904_259}[r.FrameSize]; r.Frames.FramesPerSecond != want || r.Multicast.Groups != 200 || r.Multicast.Receivers != 15 {
					t.Errorf("%d B: %d frames/s, want %d: %+v", r.FrameSize, r.Frames.FramesPerSecond, want, r.Multicast)
				}
			case "join", "leave":
				want := map[string]int64{"join": 2_500_000, "leave": 150_000_000}[r.Test]
				if d == nil || d.Groups != 200 || d.Receivers != 15 || d.Unseen != 0 || d.MinNs < want-d.ResolutionNs || d.MaxNs > want+d.ResolutionNs+2000 {
					t.Errorf("%s %d B: %+v", r.Test, r.FrameSize, d)
				}
			case "capacity":
				want := v1alpha1.GroupCapacitySummary{Groups: 200, MulticastRoutes: 1000, Protocol: "IGMPv3", Receivers: 15}
				if r.GroupCapacity == nil || *r.GroupCapacity != want {
					t.Errorf("%d B: %+v %q", r.FrameSize, r.GroupCapacity, r.Message)
				}
			}
		}
	},
	"bgp":      overLearntRoutes,
	"bgp-ipv6": overLearntRoutes,
	"route-capacity": func(t *testing.T, rows []v1alpha1.ResultRow) {
		want := v1alpha1.RouteCapacitySummary{Routes: 240_000, Announced: 280_000, Received: 250_000, Full: true, Block: 40_000, FullBlocks: 6, Witness: "witness"}
		c := rows[0].RouteCapacity
		if c == nil || c.RoutesPerSecond == nil || *c.SlowestBlockNs != 2_100_000_000 {
			t.Fatalf("%+v %q", c, rows[0].Message)
		}
		if m := c.Memory; m == nil || m.HeldBytes != 600*240_000 || m.BytesPerRoute != 600 || len(m.Blocks) != 6 || *m.EndBytes != 600*250_000 {
			t.Errorf("%+v", m)
		}
		if c.RoutesPerSecond, c.SlowestBlockNs, c.Memory = nil, nil, nil; *c != want || rows[0].Frames != nil {
			t.Errorf("%+v %q", c, rows[0].Message)
		}
	},
	"fib-truth": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 250 ms, 50,000 routes at 20,000/s, and up to 500 ms for each; a turn takes 500 ms.
		f := rows[0].FIBTruth
		if f == nil || f.Delay == nil || rows[0].Frames != nil {
			t.Fatalf("%+v %q", f, rows[0].Message)
		}
		b, dropped, misrouted := v1alpha1.SimulatedBehaviour{FIBDroppedPPM: new(int64(1000)), FIBMisroutedPPM: new(int64(1000)), FIBSeed: new(int64(7))}, int64(0), int64(0)
		for i := range uint32(50_000) {
			switch drops, misroutes := sim.FIBFault(b, routing.Routes{First: netip.MustParsePrefix("20.0.0.0/24")}.Prefix(i)); {
			case drops:
				dropped++
			case misroutes:
				misrouted++
			}
		}
		if f.Routes != 50_000 || f.Forwarded != 50_000-dropped-misrouted || f.Dropped != dropped || f.Misrouted != misrouted || f.LostProbes+f.Forgotten > 0 || dropped == 0 || misrouted == 0 ||
			int64(len(f.DroppedPrefixes)) != f.Dropped || int64(len(f.MisroutedPrefixes)) != f.Misrouted || f.MisroutedPrefixes[0].Port != "p3" {
			t.Errorf("%+v", f)
		}
		if d := f.Delay; d.Routes != f.Forwarded || d.ResolutionNs != 500_000_000 || d.P50Ns < 1_500_000_000 || d.P50Ns > 2_250_000_000 || d.LastNs < 2_750_000_000 || d.LastNs > 3_760_000_000 {
			t.Errorf("%+v", d)
		}
	},
	"convergence": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 250 ms, and 200,000 routes at 20,000/s; withdrawn at 40,000/s. On average a route
		// takes half of that.
		times := func(took, half time.Duration) v1alpha1.EventTimes {
			return v1alpha1.EventTimes{AvgNs: int64(took), MinNs: int64(took), MaxNs: int64(took), LossDerivedAvgNs: int64(half)}
		}
		c := rows[0].Convergence
		if c == nil || c.Cycles != 3 || c.Routes != 200_000 || rows[0].Series == nil {
			t.Fatalf("%+v %q", c, rows[0].Message)
		}
		for _, e := range []struct{ got, want v1alpha1.EventTimes }{
			{c.Announce, times(10_300*time.Millisecond, 5250*time.Millisecond)},
			{c.Withdraw, times(5300*time.Millisecond, 2750*time.Millisecond)},
		} {
			e.got.LossDerivedAvgNs = int64(time.Duration(e.got.LossDerivedAvgNs).Round(time.Microsecond))
			if e.got != e.want {
				t.Errorf("%+v, want %+v", e.got, e.want)
			}
		}
	},
	"route-flap": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 500 ms, 50,000 routes at 25,000/s, and 200 ms for each: 200 ms of a quarter of
		// 8,928,571 frames/s, six times.
		const lost = 8_928_571 * 6 / 4 / 5
		f := rows[0].RouteFlap
		if f == nil || f.Withdraw.AvgNs != 2_700_000_000 || f.Announce.AvgNs != 2_700_000_000 || f.Withdraw.Unseen+f.Announce.Unseen > 0 ||
			f.FlappedLost < lost-100 || f.FlappedLost > lost+100 || f.StableLost != 0 || *f.LowestStablePPM != v1alpha1.PPM ||
			f.LowestFlappedPPM < 899_900 || f.LowestFlappedPPM > 900_100 || f.Stable == nil || rows[0].Series == nil || rows[0].Frames.Lost != f.FlappedLost {
			t.Errorf("%+v %q", f, rows[0].Message)
		}
	},
	"route-refresh": func(t *testing.T, rows []v1alpha1.ResultRow) {
		const took = 2_250_000_000 // 250 ms, and 200,000 routes at 100,000/s
		r := rows[0].RouteRefresh
		if r == nil || r.Session != "sender" || r.Refreshes != 3 || r.Routes != 200_000 || r.Refresh == nil || *r.Refresh != (v1alpha1.TimeSpread{AvgNs: took, MinNs: took, MaxNs: took}) ||
			*r.RoutesPerSecond != 88_889 || r.Unseen > 0 || rows[0].Frames.Lost > 0 {
			t.Errorf("%+v %q", r, rows[0].Message)
		}
	},
	"bgp-restart": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// 3 s and 250 ms, and 200,000 routes at 20,000/s: half of that on average. What is
		// back is looked for every 20 ms.
		s := rows[0].BGPRestart
		if s == nil || s.Restarts != 3 || s.Sessions != 2 || s.Routes != 200_000 || s.SessionsBack == nil || s.SessionsBack.MaxNs != 3_000_000_000 || s.RoutesBack == nil ||
			s.RoutesBack.MaxNs < 13_250_000_000 || s.RoutesBack.MaxNs > 13_270_000_000 || s.Outage.AvgNs < 8_249_000_000 || s.Outage.AvgNs > 8_251_000_000 || s.AvgLost != rows[0].Frames.Lost {
			t.Errorf("%+v %q", s, rows[0].Message)
		}
	},
	"incast": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 6 {
			t.Fatalf("%d rows", len(rows))
		}
		one, most := rows[0].Incast, rows[5].Incast
		if one.Retransmissions != 0 || one.Timeouts != 0 || one.GoodputBitsPerSecond < 7e9 || one.Bytes != 1_000_000 || one.MTU != 9000 {
			t.Errorf("one server: %+v", one)
		}
		if most.Timeouts == 0 || most.Collapsed == nil || !*most.Collapsed || *most.DeviceDrops == 0 || most.Bytes != 23_000_000 || most.CongestionControl != "reno" {
			t.Errorf("23 servers: %+v", most)
		}
	},
	"incast-stateless": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 6 {
			t.Fatalf("%d rows", len(rows))
		}
		for i, alone := range rows[:3] {
			row := rows[3+i]
			s := row.Incast.Stateless
			if alone.Incast.Stateless != nil || s == nil || row.Load != "20%" || s.LoadPPM != 200_000 || s.FrameSize != 512 || s.Sent != s.Received+s.Lost {
				t.Fatalf("%s: %+v, and alone %+v", row.Name(), s, alone.Incast.Stateless)
			}
			if off := *row.Incast.DeviceDrops - s.Lost - s.TCPSegmentsLost; off < -20 || off > 20 { // one for each stream at both ends of the trial
				t.Errorf("%s: %d drops, %d frames and %d segments lost", row.Name(), *row.Incast.DeviceDrops, s.Lost, s.TCPSegmentsLost)
			}
			// 20 % of the line are 1.925 Gbit/s without preamble and gap.
			if s.OfferedFramesPerSecond < 469_000 || s.OfferedFramesPerSecond > 470_000 || s.BitsPerSecond > 1_925_000_000 || s.BitsPerSecond+s.TCPBitsPerSecond > 10_000_000_000 || row.Incast.GoodputBitsPerSecond > 8_000_000_000 {
				t.Errorf("%s: %+v, goodput %d", row.Name(), s, row.Incast.GoodputBitsPerSecond)
			}
		}
		if s := rows[5].Incast.Stateless; s.Lost == 0 || s.TCPSegmentsLost == 0 || s.Latency.MaxNs < 300_000 || s.Latency.MaxNs > 420_000 {
			t.Errorf("8 servers: %+v %+v", s, s.Latency)
		}
	},
	"message-rate": func(t *testing.T, rows []v1alpha1.ResultRow) {
		s := rows[0].MessageRate
		if len(rows) != 1 || s.Rate < 999_000 || s.Rate > 1_000_442 || s.FailedRate < 1_000_441 || s.FailedRate-s.Rate > 1000 || len(s.Passed.Subscribers) != 4 || s.Failed.DeviceLost == 0 {
			t.Errorf("%+v", s)
		}
	},
	"rpc-latency": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 12 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			s := row.RPCLatency
			// Each frame is held for 2 µs twice, and the messages are on a second link.
			if s.Device.LowNs < 3_900 || s.Device.HighNs > 60_000 || s.RoundTrip.P50Ns-s.BackToBack.P50Ns != s.Device.Ns || s.Requests != 1000 {
				t.Errorf("%s: %+v %+v", row.Name(), s, s.Device)
			}
			if b := s.Background; (b != nil) != (row.Load != "") || b != nil && (b.Lost > 0 || b.Sent == 0) {
				t.Errorf("%s: background %+v", row.Name(), b)
			}
		}
		if alone, loaded := rows[0].RPCLatency.Device.Ns, rows[2].RPCLatency.Device.Ns; loaded < alone+500 {
			t.Errorf("%d ns without background, and %d with 40 %%", alone, loaded)
		}
	},
	"collectives": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 6 {
			t.Fatalf("%d rows", len(rows))
		}
		steps := map[v1alpha1.CollectiveAlgorithm]int{"RingAllReduce": 14, "TreeAllReduce": 6, "AllToAll": 7}
		for _, row := range rows {
			s := row.Collectives
			if len(s.StepP50Ns) != steps[s.Algorithm] || s.Repetitions != 100 || s.WrongResults != 0 || s.SlowPort != "" || s.SlowestLink.Slow || s.BusBitsPerSecond > 10_000_000_000 {
				t.Errorf("%s: %+v %+v", row.Name(), s, s.SlowestLink)
			}
			if s.Algorithm != "TreeAllReduce" && row.MessageSize > 8_000_000 && s.BusBitsPerSecond < 9_000_000_000 {
				t.Errorf("%s: bus bandwidth %d", row.Name(), s.BusBitsPerSecond)
			}
		}
	},
	"bulk": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 4 {
			t.Fatalf("%d rows", len(rows))
		}
		// 60 % of 10 Gbit/s with 1448 of 1538 bytes of a segment, and all of it with 8948 of 9038.
		for i, want := range []struct {
			goodput     float64
			bytes       int64
			connections int
		}{{6e9 * 1448 / 1538, 5e9, 1}, {6e9 * 1448 / 1538, 5e9, 8}, {1e10 * 8948 / 9038, 5e9, 8}, {6e9 * 1448 / 1538, 42_366_710_013, 1}} {
			s := rows[i].Bulk
			if off := float64(s.GoodputBitsPerSecond)/want.goodput - 1; off < -1e-6 || off > 1e-6 || s.SentBytes != want.bytes || s.ReceivedBytes != want.bytes || len(s.ReceivedByConnection) != want.connections {
				t.Errorf("%s: %+v, want %+v", rows[i].Name(), s, want)
			}
		}
	},
	"session-scale": func(t *testing.T, rows []v1alpha1.ResultRow) {
		want := v1alpha1.SessionScaleSummary{Sessions: 500, Tried: 800, Full: true, EstablishNs: 10_000_000_000, SessionsPerSecond: new(int64(50)), SoakNs: 3_600_000_000_000, Flaps: 3600, FlapsPerHour: 3600}
		if s := rows[0].SessionScale; !reflect.DeepEqual(s, &want) || rows[0].Frames != nil {
			t.Errorf("%+v %q", s, rows[0].Message)
		}
	},
	"configuration-scale": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 8 {
			t.Fatalf("%d rows, want 8", len(rows))
		}
		for i, r := range rows[2:] {
			s := r.ConfigurationScale
			want := map[string][2]int64{"loss": {2000, 2001}, "latency": {500, 501}, "coarse": {2000, 2100}}[r.Test]
			if s == nil || [2]int64{s.Entries, s.FailedEntries} != want || *s.AddedLatencyNs != 2*s.Entries || *s.FailedAddedLatencyNs != 2*s.FailedEntries || (s.Effect == v1alpha1.ScaleAddsLatency) != (r.Test == "latency") {
				t.Errorf("%s %d B: %+v", r.Test, r.FrameSize, s)
			}
			// 90 % of the throughput, rounded down.
			if share := rows[i%2].Frames.LineRatePPM * 9 / 10; r.Frames.Lost != 0 || r.Test != "coarse" && r.Frames.LineRatePPM != share {
				t.Errorf("%s %d B: %d frames lost at %d ppm, want none at %d", r.Test, r.FrameSize, r.Frames.Lost, r.Frames.LineRatePPM, share)
			}
		}
	},
	"recovery": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// At 33 % of line rate, frames of 64 bytes on 10G leave every 204 ns.
		if r := rows[3].Recovery; r == nil || r.Repetitions != 3 || r.OverloadPPM != 660_000 || r.ReducedPPM != 330_000 ||
			r.MinNs < 1_499_000 || r.MaxNs > 1_501_000 || r.AvgNs < r.MinNs || r.AvgNs > r.MaxNs {
			t.Errorf("64 B: %+v", r)
		}
		if r := rows[4]; r.Recovery == nil || r.Recovery.MaxNs != 0 || r.Recovery.OverloadPPM != v1alpha1.PPM || r.Frames.Lost == 0 {
			t.Errorf("512 B: %+v", r)
		}
		if r := rows[5]; r.Recovery != nil || !strings.Contains(r.Message, "line rate") {
			t.Errorf("1518 B: %+v", r)
		}
	},
	"imix": func(t *testing.T, rows []v1alpha1.ResultRow) {
		// Of all rates the frames of a mix are counted together: 4 ports of 10G send
		// 10^10 / 35888 rounds of 12 frames and 4246 bytes at line rate.
		want := []struct {
			name              string
			ppm, frames, bits int64
		}{
			{"64 B", 696_875, 41_480_655, 21_238_095_238}, {"1518 B", 1_000_000, 3_250_975, 39_479_843_953},
			{"mix simple", 946_060, 12_653_500, 35_817_840_036}, {"mix packets", 958_689, 9_499_234, 36_827_682_607},
			{"mix genome", 965_741, 7_813_439, 37_379_489_838},
		}
		if len(rows) != 20 {
			t.Fatalf("%d rows, want 20", len(rows))
		}
		for i, w := range want {
			if r := rows[i]; r.SizeName() != w.name || r.Frames.LineRatePPM != w.ppm || r.Frames.FramesPerSecond != w.frames || r.Frames.BitsPerSecond != w.bits || r.Frames.Lost != 0 {
				t.Errorf("%s: %d ppm, %d frames/s, %d bit/s, %d lost, want %+v", r.SizeName(), r.Frames.LineRatePPM, r.Frames.FramesPerSecond, r.Frames.BitsPerSecond, r.Frames.Lost, w)
			}
			if at := rows[5+2*i+1]; at.SizeName() != w.name || at.Frames.LineRatePPM != w.ppm || at.Frames.Lost != 0 {
				t.Errorf("latency at the throughput: %+v", at)
			}
		}
		if r := rows[17]; *r.Frames.LossPPM != 53_940 || *r.Frames.ReceivedFramesPerSecond != 12_653_500 {
			t.Errorf("mix simple at line rate: %+v", r)
		}
	},
	"ordering": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if len(rows) != 20 {
			t.Fatalf("%d rows, want 20", len(rows))
		}
		for i, r := range rows {
			want := v1alpha1.OrderingSummary{InOrderPPM: r.Frames.LineRatePPM}
			if i >= 4 && i < 10 {
				want = v1alpha1.OrderingSummary{ReorderedPPM: 5100, OutOfSequencePPM: 15_300, InOrderPPM: 432_031, OnsetPPM: 432_812}
			}
			if r.Ordering == nil {
				t.Fatalf("%d B at %s: no ordering", r.FrameSize, r.Load)
			}
			got, behind := *r.Ordering, r.Ordering.Reordering
			got.Reordering = nil
			if got != want || (behind != nil) != (want.ReorderedPPM > 0) {
				t.Errorf("%d B at %s: %+v, want %+v", r.FrameSize, r.Load, got, want)
			}
			if behind == nil {
				continue
			}
			all := []v1alpha1.ReorderingExtent{{From: 1, To: new(int64(1)), Frames: *r.Frames.Reordered}}
			degrees := []v1alpha1.NReordering{{N: 1, Frames: *r.Frames.Reordered, PPM: 5100}}
			if behind.ExtentMaxFrames != 1 || behind.NMax != 1 || behind.FreeRunFrames != 195 || !reflect.DeepEqual(behind.Extents, all) || !slices.Equal(behind.NReordered, degrees) {
				t.Errorf("%d B at %s: %+v", r.FrameSize, r.Load, behind)
			}
		}
	},
	"buffer-size": func(t *testing.T, rows []v1alpha1.ResultRow) {
		want := []v1alpha1.BufferSizeSummary{
			{OversubscriptionPPM: 10_000, Repetitions: 10, AvgFrames: 12_000, MinFrames: 12_000, MaxFrames: 12_000, AvgBytes: 768_000, BurstFrames: 1_212_000},
			{OversubscriptionPPM: 10_000, Repetitions: 10, AvgFrames: 500, MinFrames: 500, MaxFrames: 500, AvgBytes: 759_000, BurstFrames: 50_500},
			{OversubscriptionPPM: 1_000_000, Repetitions: 10, AvgFrames: 12_000, MinFrames: 12_000, MaxFrames: 12_000, AvgBytes: 768_000, BurstFrames: 24_000},
			{OversubscriptionPPM: 1_000_000, Repetitions: 10, AvgFrames: 500, MinFrames: 500, MaxFrames: 500, AvgBytes: 759_000, BurstFrames: 1000},
		}
		if len(rows) != len(want) {
			t.Fatalf("%d rows, want %d", len(rows), len(want))
		}
		for i, w := range want {
			if b := rows[i].BufferSize; b == nil || *b != w {
				t.Errorf("%+v, want %+v", b, w)
			}
		}
	},
	"address-caching": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if c := rows[0].AddressCaching; c == nil || c.Addresses != 16_383 || c.ExceededAt != 16_384 || len(c.Iterations) != 16 {
			t.Errorf("%+v", c)
		}
	},
	"address-learning": func(t *testing.T, rows []v1alpha1.ResultRow) {
		if c := rows[0].AddressCaching; c == nil || c.Addresses > 8191 || c.ExceededAt < 8192 || c.ExceededAt-c.Addresses > 64 {
			t.Errorf("caching: %+v", c)
		}
		// The last of 4,000 addresses comes one interval before the end of their time.
		if l := rows[1].AddressLearning; l == nil || l.AddressesPerSecond > 40_010 || l.ExceededAt < 40_000 || l.ExceededAt-l.AddressesPerSecond > 100 {
			t.Errorf("learning: %+v", l)
		}
	},
	"broadcast": func(t *testing.T, rows []v1alpha1.ResultRow) {
		for i, want := range []struct{ load, rate, loss, latency int64 }{{750_000, 33_482_143, 250_000, 600}, {v1alpha1.PPM, 2_438_231, 0, 900}} {
			r := rows[i]
			if b := r.Broadcast; b == nil || r.Frames.LineRatePPM != want.load || b.ForwardingRate != want.rate || b.LossPPM != want.loss || b.Receivers != 3 || *b.LatencyMaxNs != want.latency {
				t.Errorf("%d B: %d ppm, %+v, want %+v", r.FrameSize, r.Frames.LineRatePPM, b, want)
			}
		}
	},
	"head-of-line": func(t *testing.T, rows []v1alpha1.ResultRow) {
		for _, r := range rows {
			if h := r.HeadOfLineBlocking; h == nil || h.Blocking == nil || !*h.Blocking || h.UncongestedLossPPM != 333_333 || h.CongestedLossPPM != 333_333 || h.AloneLossPPM != 0 {
				t.Errorf("%d B: %+v", r.FrameSize, h)
			}
		}
	},
	"rfc2544-latency": func(t *testing.T, rows []v1alpha1.ResultRow) {
		want := []v1alpha1.RFC2544LatencySummary{
			{Definition: v1alpha1.LatencyStoreAndForward, Repetitions: 20, AvgNs: 3000, MinNs: 3000, MaxNs: 3000, WireNs: 102},
			{Definition: v1alpha1.LatencyStoreAndForward, Repetitions: 20, AvgNs: 4000, MinNs: 4000, MaxNs: 4000, WireNs: 2429},
		}
		if len(rows) != 4 {
			t.Fatalf("%d rows", len(rows))
		}
		for i, w := range want {
			if r := rows[2+i]; r.RFC2544Latency == nil || *r.RFC2544Latency != w || r.Frames.TrialMilliseconds != 120_000 || r.Load != v1alpha1.LoadThroughput {
				t.Errorf("%+v, want %+v", r.RFC2544Latency, w)
			}
		}
	},
	"congestion-control": func(t *testing.T, rows []v1alpha1.ResultRow) {
		for _, r := range rows {
			c := r.CongestionControl
			if c == nil || c.BackPressure == nil || !*c.BackPressure || *c.HeadOfLineBlocking || c.CongestedLossPPM != 0 || r.Frames.Lost != 0 || r.Validity != v1alpha1.ValiditySimulated {
				t.Errorf("%d B: %+v, lost %d, %s", r.FrameSize, c, r.Frames.Lost, r.Validity)
			}
			if share := float64(r.Frames.OfferedFramesPerSecond) / float64(r.Frames.FramesPerSecond); share < 0.6666 || share > 0.6667 {
				t.Errorf("%d B: offered %d of %d frames/s, want two thirds", r.FrameSize, r.Frames.OfferedFramesPerSecond, r.Frames.FramesPerSecond)
			}
		}
	},
}

// overLearntRoutes holds rows of throughput and latency: no frame to a learnt network is
// lost.
func overLearntRoutes(t *testing.T, rows []v1alpha1.ResultRow) {
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Frames.Lost != 0 || r.Frames.Sent == 0 || r.Frames.LineRatePPM < 500_000 {
			t.Errorf("%s: %+v %q", r.Name(), r.Frames, r.Message)
		}
	}
}
