package main

import (
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// benchmarkOf is a benchmark of these tests on the bed bridge, whose profile has
// the pattern and the packet.
func benchmarkOf(tests string) string {
	return `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: pattern}
spec:
  testBedName: bridge
  trafficProfileName: pattern
  settleTime: 100ms
  restTime: 0s
  tests:
` + tests
}

func withPattern(bed, pattern, packet string) string {
	return bed + "  pattern: " + pattern + "\n  packet: " + packet + "\n"
}

// byMethod are the rows of a result, which a test wants so many of per method.
func byMethod(t *testing.T, document *report.Document, want map[v1alpha1.Method]int) map[v1alpha1.Method][]v1alpha1.ResultRow {
	t.Helper()
	rows := map[v1alpha1.Method][]v1alpha1.ResultRow{}
	for _, row := range document.Rows {
		t.Log(report.RowLine(row))
		rows[row.Method] = append(rows[row.Method], row)
	}
	for method, n := range want {
		if len(rows[method]) != n {
			t.Fatalf("%d rows of %s, want %d", len(rows[method]), method, n)
		}
	}
	return rows
}

// A bridge that snoops memberships: groups begin and end with the reports of the
// ports, and as many are forwarded as are tried.
func TestRunGroupsOverBridge(t *testing.T) {
	const tests = `  - name: join-unknown
    groupJoinDelay: {method: A, load: 5%, leadTime: 100ms, waitTime: 300ms, repetitions: 2}
  - name: join-known
    groupJoinDelay: {method: B, load: 5%, leadTime: 300ms, waitTime: 300ms, repetitions: 2}
  - name: leave
    groupLeaveDelay: {load: 5%, leadTime: 500ms, waitTime: 300ms, repetitions: 2}
  - name: capacity
    groupCapacity: {initialGroups: 10, groupIncrement: 15, load: 2%, joinTime: 200ms, trialDuration: 300ms}
`
	for packet, protocol := range map[string]string{"{ipv4: {}}": "IGMPv3", "{ipv6: {}}": "MLDv2"} {
		t.Run(protocol, func(t *testing.T) {
			rare(t, protocol == "MLDv2") // The engine's own tests send both families.
			const groups = 40
			rest := withPattern(bridgedBed, fmt.Sprintf("{fanOut: {sender: p2, groups: %d}}", groups), packet)
			rows := byMethod(t, runHere(t, benchmarkOf(tests), rest), map[v1alpha1.Method]int{
				v1alpha1.MethodGroupJoinDelay: 2, v1alpha1.MethodGroupLeaveDelay: 1, v1alpha1.MethodGroupCapacity: 1,
			})
			joins := rows[v1alpha1.MethodGroupJoinDelay]
			delayed(t, joins[0], v1alpha1.GroupDelaySummary{Protocol: protocol, Groups: groups, Method: v1alpha1.GroupJoinMethodA}, "p1", "p3", "p4")
			delayed(t, joins[1], v1alpha1.GroupDelaySummary{Protocol: protocol, Groups: groups, Method: v1alpha1.GroupJoinMethodB}, "p1", "p3")
			delayed(t, rows[v1alpha1.MethodGroupLeaveDelay][0], v1alpha1.GroupDelaySummary{Protocol: protocol, Groups: groups}, "p1", "p3", "p4")
			row := rows[v1alpha1.MethodGroupCapacity][0]
			want := v1alpha1.GroupCapacitySummary{Groups: groups, MulticastRoutes: groups, Protocol: protocol, Receivers: 3}
			if c := row.GroupCapacity; c != nil && row.Validity == v1alpha1.ValidityGeneratorBound {
				want.Groups, want.MulticastRoutes = c.Groups, int64(c.Groups) // The tester could not send to more, and says so.
			}
			if c := row.GroupCapacity; c == nil || *c != want || row.Frames.Received != 3*row.Frames.Sent || row.Frames.Sent == 0 {
				t.Errorf("%+v, sent %d, received %d, %s (%s), want %+v", c, row.Frames.Sent, row.Frames.Received, row.Validity, row.Message, want)
			}
		})
	}
}

// delayed checks a group delay: what was measured is as wanted, at the ports that
// are named, and the figures of the ports make those of the row.
func delayed(t *testing.T, row v1alpha1.ResultRow, want v1alpha1.GroupDelaySummary, ports ...string) {
	t.Helper()
	d := row.GroupDelay
	if d == nil {
		t.Errorf("%s: no delay: %s", row.Test, row.Message)
		return
	}
	if d.Protocol != want.Protocol || d.Groups != want.Groups || d.Method != want.Method || d.Repetitions != 2 || d.Unseen != 0 ||
		int(d.Receivers) != len(ports) || len(d.Ports) != len(ports) || d.ResolutionNs == 0 || row.Frames.Received == 0 || row.Frames.Lost != 0 {
		t.Fatalf("%s: %+v, received %d, lost %d", row.Test, d, row.Frames.Received, row.Frames.Lost)
	}
	least, most, sum := d.Ports[0].MinNs, d.Ports[0].MaxNs, int64(0)
	for i, p := range d.Ports {
		if p.Port != ports[i] || p.MinNs < 0 || p.MinNs > p.AvgNs || p.AvgNs > p.MaxNs {
			t.Errorf("%s: %+v", row.Test, p)
		}
		least, most, sum = min(least, p.MinNs), max(most, p.MaxNs), sum+p.AvgNs
	}
	// Every port has as many delays, so that the mean is that of the means.
	if off := d.AvgNs - sum/int64(len(ports)); d.MinNs != least || d.MaxNs != most || off < -1 || off > 1 {
		t.Errorf("%s: %+v", row.Test, d)
	}
	// In addition to what the device takes, a delay has the interval of the frames.
	if d.MaxNs > 300_000_000+d.ResolutionNs {
		t.Errorf("%s: %d ns are longer than was waited", row.Test, d.MaxNs)
	}
}

// A Linux bridge learns all addresses that it is offered, and replicates broadcast
// frames to all other ports.
func TestRunAddressesOverBridge(t *testing.T) {
	const tests = `  - name: caching
    addressCaching: {maxAddresses: 400, learningRate: 1000, agingTime: 1s}
  - name: learning
    addressLearning: {addresses: 200, maxRate: 1000, resolution: 500, agingTime: 500ms}
  - name: broadcast
    broadcast: {minLoad: 0.5%, maxLoad: 4%, resolution: 2%, trialDuration: 300ms, searchTrialDuration: 200ms}
`
	rows := byMethod(t, runHere(t, benchmarkOf(tests), withPattern(bridgedBed, "{pairs: {}}", "{ipv4: {}}")), map[v1alpha1.Method]int{
		v1alpha1.MethodAddressCaching: 1, v1alpha1.MethodAddressLearning: 1, v1alpha1.MethodBroadcast: 1,
	})
	row := rows[v1alpha1.MethodAddressCaching][0]
	c := row.AddressCaching
	if c == nil || c.Addresses != 400 || c.ExceededAt != 0 || row.Frames.Sent != 400 || row.Frames.Received != 400 || row.Frames.Lost != 0 {
		t.Fatalf("%+v, sent %d, received %d (%s), want all 400 addresses", c, row.Frames.Sent, row.Frames.Received, row.Message)
	}
	nothingFlooded(t, c.Iterations)
	row = rows[v1alpha1.MethodAddressLearning][0]
	l := row.AddressLearning
	if l == nil || l.Addresses != 200 {
		t.Fatalf("%+v (%s)", l, row.Message)
	}
	// All at the rate asked for; or the tester did not send so fast, and says so.
	if all := l.AddressesPerSecond == 1000 && l.ExceededAt == 0; !all && row.Validity != v1alpha1.ValidityGeneratorBound {
		t.Errorf("%+v, %s (%s)", l, row.Validity, row.Message)
	}
	nothingFlooded(t, l.Iterations)
	row = rows[v1alpha1.MethodBroadcast][0]
	if nothingPassed(t, row) {
		return
	}
	b := row.Broadcast
	if b == nil || row.Frames.Sent == 0 || row.Frames.Received != 3*row.Frames.Sent || row.Frames.LineRatePPM < 5000 {
		t.Fatalf("%+v at %d ppm, sent %d, received %d (%s)", b, row.Frames.LineRatePPM, row.Frames.Sent, row.Frames.Received, row.Message)
	}
	if b.Receivers != 3 || b.MaxLoadPPM == 0 || b.MaxLoadPPM > 40_000 || b.ForwardingRate == 0 || b.LossPPM > 0 && row.Frames.LineRatePPM == 40_000 {
		t.Errorf("%+v at %d ppm", b, row.Frames.LineRatePPM)
	}
	if b.LatencyMinNs == nil || *b.LatencyMinNs <= 0 || *b.LatencyAvgNs < *b.LatencyMinNs || *b.LatencyMaxNs < *b.LatencyAvgNs {
		t.Errorf("latency of one frame: %+v", b)
	}
}

// nothingFlooded checks iterations that were tested: what the bridge learnt it does
// not flood.
func nothingFlooded(t *testing.T, iterations []v1alpha1.AddressIteration) {
	t.Helper()
	tested := 0
	for _, i := range iterations {
		if i.Sent > 0 {
			tested++
		}
		if i.Flooded != 0 || i.Received != i.Sent {
			t.Errorf("%+v: flooded or lost", i)
		}
	}
	if tested == 0 {
		t.Errorf("of %d iterations none was tested", len(iterations))
	}
}

// The ports of the bridge in the namespace are faster than the bed says, so nothing
// is congested: the tests say that instead of answering, and lose nothing. Bridges
// with slow ports are tested next to the engine.
func TestRunCongestionOverBridge(t *testing.T) {
	longtest.Skip(t, "TestABridgeThatIsNotCongested of the engine")
	const tests = `  - name: blocking
    headOfLineBlocking: {load: 70%, trialDuration: 300ms}
  - name: congestion
    congestionControl: {load: 70%, trialDuration: 300ms}
`
	bed := withPattern(bridgedBed, "{pairs: {}}", "{ipv4: {}}")
	rows := byMethod(t, runHere(t, benchmarkOf(tests), strings.ReplaceAll(bed, "speed: 100M", "speed: 10M")), map[v1alpha1.Method]int{
		v1alpha1.MethodHeadOfLineBlocking: 1, v1alpha1.MethodCongestionControl: 1,
	})
	row := rows[v1alpha1.MethodHeadOfLineBlocking][0]
	if h := row.HeadOfLineBlocking; lostByMachine(t, row) {
		// Nor does it say anything about congestion.
	} else if h == nil || row.Frames.Lost > 0 {
		t.Errorf("%+v, lost %d", h, row.Frames.Lost)
	} else if h.Blocking != nil || h.UncongestedLossPPM != 0 || h.AloneLossPPM != 0 || h.CongestedLossPPM != 0 || h.DelayNs == nil || h.AloneDelayNs == nil || row.Message == "" {
		t.Errorf("%+v (%s)", h, row.Message)
	}
	row = rows[v1alpha1.MethodCongestionControl][0]
	if c := row.CongestionControl; lostByMachine(t, row) {
		// Nor does it say anything about congestion.
	} else if c == nil || row.Frames.Lost > 0 {
		t.Errorf("%+v, lost %d", c, row.Frames.Lost)
	} else if c.HeadOfLineBlocking != nil || c.BackPressure != nil || c.UncongestedLossPPM != 0 || c.CongestedLossPPM != 0 || c.CongestedFramesPerSecond <= c.UncongestedFramesPerSecond || row.Message == "" {
		t.Errorf("%+v (%s)", c, row.Message)
	}
}
