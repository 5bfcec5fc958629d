package method

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

// incast lets a client ask a number of servers for blocks, again and again, with frames to its port meanwhile if the test asks for them.
func incast(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.Incast
	request := workload.IncastRequest{
		Blocks: blocks(t, step.Servers), Iterations: int(t.Iterations), MTU: int(t.MTU), CongestionControl: t.CongestionControl,
	}
	request.Client, request.Servers = incastPorts(t, tester.Plan.Ports)
	var found workload.Incast
	var next *statelessTrial
	var drops dropCount
	var err error
	if t.Stateless != nil {
		found, next, err = incastNextToFrames(ctx, tester, step, &request, &drops)
	} else {
		found, err = uninterrupted(ctx, func() (workload.Incast, error) {
			if err := drops.begin(tester, request.Client); err != nil {
				return workload.Incast{}, err
			}
			return tester.Workload.Incast(ctx, request)
		})
	}
	if err != nil {
		return trials.Outcome{}, err
	}
	sum := summarizeIncast(request, found)
	if sum.DeviceDrops, err = drops.end(tester, request.Client, found.DeviceDrops); err != nil {
		return trials.Outcome{}, err
	}
	compareWithFewest(&sum, step.Servers, tester.Results.Before(step))
	out := trials.Outcome{Doubt: found.Limits.Doubt(), Fill: func(row *v1alpha1.ResultRow) {
		// Frames next to the connections are in the summary.
		*row = v1alpha1.ResultRow{RowID: row.RowID, Trials: row.Trials, ElapsedMilliseconds: row.ElapsedMilliseconds, Incast: &sum}
	}}
	if next != nil {
		sum.Stateless = next.summarize(step, sum)
		out.Trial, out.Doubt = next.Trial, cmp.Or(out.Doubt, shortOfBackground(next.Trial))
	}
	noteIncast(tester, step, sum, found)
	if texts := found.Settings.Differences(request); len(texts) > 0 {
		out.Invalid = strings.Join(texts, "; ")
	}
	out.Message = describeIncastRow(sum)
	return out, nil
}

// dropCount counts the packets that the device drops towards a port.
type dropCount struct {
	before uint64
	known  bool
}

// begin reads the counter of the device before the first packet.
func (c *dropCount) begin(tester *trials.Tester, port string) (err error) {
	c.before, c.known, err = dropped(tester, port)
	return err
}

// end returns the number of packets since begin, or the number of a modeled device; nil if neither is known.
func (c *dropCount) end(tester *trials.Tester, port string, modeled *uint64) (*int64, error) {
	switch {
	case modeled != nil:
		return new(int64(*modeled)), nil
	case !c.known:
		return nil, nil
	}
	after, _, err := dropped(tester, port)
	if err != nil {
		return nil, err
	}
	return new(int64(after - c.before)), nil
}

// dropped returns the number of packets that the device has dropped towards a port, and whether it is known.
func dropped(tester *trials.Tester, port string) (uint64, bool, error) {
	if tester.Device.Drops == nil {
		return 0, false, nil
	}
	n, known, err := tester.Device.Drops.Dropped(port)
	if err != nil {
		return 0, false, fmt.Errorf("reading what the device dropped: %w", err)
	}
	return n, known, nil
}

// summarizeIncast makes the figures of a row.
func summarizeIncast(request workload.IncastRequest, found workload.Incast) v1alpha1.IncastSummary {
	all := total(found.Completions)
	sum := v1alpha1.IncastSummary{
		CongestionControl: found.Settings.CongestionControl, MTU: int32(found.Settings.MTU),
		Iterations: int64(len(found.Completions)), Bytes: request.Bytes(),
		GoodputBitsPerSecond: goodput(request.Bytes(), len(found.Completions), all),
		Completion: v1alpha1.CompletionTimes{
			AvgNs: int64(average(found.Completions)), P50Ns: int64(workload.Percentile(found.Completions, 50)),
			P99Ns: int64(workload.Percentile(found.Completions, 99)), MaxNs: int64(workload.Percentile(found.Completions, 100)),
		},
		ReceivedBytes: int64(found.ReceivedBytes), ReceivedPackets: int64(found.ReceivedPackets),
		SkewAvgNs: int64(average(found.Skews)), SkewMaxNs: int64(workload.Percentile(found.Skews, 100)),
		SendBufferBytes: int64(found.Settings.SendBuffer), ReceiveBufferBytes: int64(found.Settings.ReceiveBuffer),
		BusyPPM: found.Limits.BusyPPM,
	}
	var busy, limited time.Duration
	for _, c := range found.Connections {
		sum.RetransmissionsByServer = append(sum.RetransmissionsByServer, int64(c.Retransmissions))
		sum.TimeoutsByServer = append(sum.TimeoutsByServer, int64(c.Timeouts))
		sum.Retransmissions += int64(c.Retransmissions)
		sum.Timeouts += int64(c.Timeouts)
		busy, limited = busy+c.Busy, limited+c.WindowLimited
	}
	if busy > 0 {
		sum.WindowLimitedPPM = int64(float64(limited) / float64(busy) * float64(v1alpha1.PPM))
	}
	return sum
}

// goodput returns the useful bits per second of iterations of so many bytes.
func goodput(bytes int64, iterations int, took time.Duration) int64 {
	if took <= 0 {
		return 0
	}
	bits := new(big.Int).Mul(big.NewInt(bytes), big.NewInt(8*int64(iterations)))
	return frame.Round(new(big.Rat).SetFrac(bits.Mul(bits, big.NewInt(int64(time.Second))), big.NewInt(int64(took))))
}

func total(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum
}

func average(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return total(all) / time.Duration(len(all))
}

// compareWithFewest notes whether the goodput has collapsed, and from which number of servers on it has. A single timeout can lower the goodput
// of a number although larger ones have none. Before are the rows
// with fewer servers.
func compareWithFewest(sum *v1alpha1.IncastSummary, servers int32, before []v1alpha1.ResultRow) {
	before = slices.DeleteFunc(slices.Clone(before), func(row v1alpha1.ResultRow) bool { return row.Incast == nil || row.Servers >= servers })
	if len(before) == 0 {
		return
	}
	slices.SortFunc(before, func(a, b v1alpha1.ResultRow) int { return int(a.Servers - b.Servers) })
	bound := before[0].Incast.GoodputBitsPerSecond / 1000 * collapsePPM / 1000
	sum.Collapsed = new(sum.GoodputBitsPerSecond < bound)
	if !*sum.Collapsed {
		return
	}
	sum.CollapsedFrom = new(int64(servers))
	for _, row := range slices.Backward(before[1:]) {
		if row.Incast.GoodputBitsPerSecond >= bound {
			return
		}
		sum.CollapsedFrom = new(int64(row.Servers))
	}
}

// noteIncast adds to the log of the row what it is computed from: the completion times, and the counts and settings that were read.
func noteIncast(tester *trials.Tester, step plan.Step, sum v1alpha1.IncastSummary, found workload.Incast) {
	r := v1alpha1.TrialRecord{Role: "incast", Tried: int64(step.Servers), Verdict: v1alpha1.TrialPassed}
	for _, took := range found.Completions {
		record.AddFigure(&r, "completionNs", int64(took))
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"completionP50Ns", sum.Completion.P50Ns}, {"completionP99Ns", sum.Completion.P99Ns},
		{"iterations", sum.Iterations}, {"mtu", int64(sum.MTU)}, {"bytes", sum.Bytes},
		{"retransmissions", sum.Retransmissions}, {"timeouts", sum.Timeouts},
		{"receivedBytes", sum.ReceivedBytes}, {"receivedPackets", sum.ReceivedPackets},
		{"skewAvgNs", sum.SkewAvgNs}, {"skewMaxNs", sum.SkewMaxNs},
		{"sendBufferBytes", sum.SendBufferBytes}, {"receiveBufferBytes", sum.ReceiveBufferBytes},
		{"windowLimitedPPM", sum.WindowLimitedPPM}, {"busyPPM", sum.BusyPPM},
	} {
		record.AddFigure(&r, f.name, f.value)
	}
	if next := sum.Stateless; next != nil {
		record.AddFigure(&r, "tcpSegmentsLost", next.TCPSegmentsLost)
	}
	if sum.DeviceDrops != nil {
		record.AddFigure(&r, "deviceDrops", *sum.DeviceDrops)
	}
	tester.Log.Add(r)
}

// describeIncastRow explains a row to a person.
func describeIncastRow(sum v1alpha1.IncastSummary) string {
	text := fmt.Sprintf("congestion control %s, MTU %d", sum.CongestionControl, sum.MTU)
	if sum.Collapsed != nil && *sum.Collapsed {
		text += "; the goodput has collapsed: it is below half of the goodput with the smallest number of servers"
	}
	return text
}
