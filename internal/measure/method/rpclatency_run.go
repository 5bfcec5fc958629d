package method

import (
	"cmp"
	"context"
	"fmt"
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

// rpcLatency sends requests of one size to a server, with or without background.
func rpcLatency(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.RPCLatency
	request := workload.RPCRequest{
		Bytes: int(step.MessageSize), Requests: int(t.Requests), WarmUp: int(t.WarmUpRequests), MTU: int(t.MTU),
		CongestionControl: t.CongestionControl, BackgroundPPM: step.LoadPPM,
	}
	request.Client, request.Server = clientAndServer(t.Client, t.Server, tester.Plan.Ports)
	var found workload.RPC
	var background *trials.Trial
	var err error
	if step.LoadPPM > 0 {
		found, background, err = withBackground(ctx, tester, step, request)
	} else {
		found, err = uninterrupted(ctx, func() (workload.RPC, error) { return tester.Workload.RPC(ctx, request) })
	}
	if err != nil {
		return trials.Outcome{}, err
	}
	sum := summarizeRPC(found)
	out := trials.Outcome{Doubt: found.Limits.Doubt(), Message: describeRPCRow(sum, found)}
	if background != nil {
		sum.Background = &v1alpha1.BackgroundFrames{
			LoadPPM: step.LoadPPM, FrameSize: t.BackgroundFrameSize, OfferedFramesPerSecond: frame.Round(background.OfferedRate()),
			Sent: int64(background.Sent), Expected: int64(background.Expected), Lost: int64(background.Lost), LossPPM: trials.SharePPM(background.Lost, background.Expected),
		}
		out.Doubt = cmp.Or(out.Doubt, shortOfBackground(background))
	}
	noteRPC(tester, step, sum, found)
	out.Fill = func(row *v1alpha1.ResultRow) { row.RPCLatency, row.Frames = &sum, nil }
	if texts := request.Differences(found.Settings); len(texts) > 0 {
		out.Invalid = strings.Join(texts, "; ")
	}
	return out, nil
}

// longestBackground bounds the time for which the background of so many requests is sent.
func longestBackground(r workload.RPCRequest) time.Duration {
	return time.Minute + time.Duration(r.Requests+r.WarmUp)*20*time.Millisecond
}

// withBackground sends requests while the generator sends the streams of the plan. The generator stops once the last
// request is answered.
func withBackground(ctx context.Context, tester *trials.Tester, step plan.Step, request workload.RPCRequest) (workload.RPC, *trials.Trial, error) {
	sized := step
	sized.Size = plan.Bytes(int(step.Test.RPCLatency.BackgroundFrameSize))
	if err := tester.Configure(ctx, sized); err != nil {
		return workload.RPC{}, nil, fmt.Errorf("preparing the background: %w", err)
	}
	loads, err := tester.Plan.At(sized.Size).Loads(step.Amount)
	if err != nil {
		return workload.RPC{}, nil, err
	}
	longest := longestBackground(request)
	run := func(ctx context.Context) (workload.RPC, error) { return tester.Workload.RPC(ctx, request) }
	found, trial, err := nextToHosts(ctx, tester, sized, loads, longest, run, nil)
	if err != nil {
		return workload.RPC{}, nil, err
	}
	if found == nil {
		return workload.RPC{}, nil, fmt.Errorf("%d requests of %d bytes were not answered within %s, for which the background was sent: lower requests or the load", request.Requests, request.Bytes, longest)
	}
	return *found, trial, nil
}

// summarizeRPC makes the figures of a row.
func summarizeRPC(found workload.RPC) v1alpha1.RPCLatencySummary {
	sum := v1alpha1.RPCLatencySummary{
		CongestionControl: found.Settings.CongestionControl, MTU: int32(found.Settings.MTU),
		RoundTrip: roundTrips(found.RoundTrips), Retransmissions: int64(found.Retransmissions), BusyPPM: found.Limits.BusyPPM,
	}
	for _, one := range found.RoundTrips {
		sum.Requests += int64(len(one))
	}
	if len(found.BackToBack) > 0 {
		share := workload.Share(found.RoundTrips, found.BackToBack)
		sum.BackToBack = new(roundTrips(found.BackToBack))
		sum.Device = &v1alpha1.TimeEstimate{Ns: int64(share.Value), LowNs: int64(share.Low), HighNs: int64(share.High)}
	}
	return sum
}

func roundTrips(rounds [][]time.Duration) v1alpha1.RoundTripTimes {
	all, median := slices.Concat(rounds...), workload.Median(rounds)
	return v1alpha1.RoundTripTimes{
		AvgNs: int64(average(all)), P50Ns: int64(median.Value), P50LowNs: int64(median.Low), P50HighNs: int64(median.High),
		P90Ns: int64(workload.PerMille(all, 900)), P99Ns: int64(workload.PerMille(all, 990)), P999Ns: int64(workload.PerMille(all, 999)), MaxNs: int64(workload.PerMille(all, 1000)),
	}
}

// noteRPC adds to the log of the row what it is computed from: the medians of the rounds, and the counts and settings
// that were read.
func noteRPC(tester *trials.Tester, step plan.Step, sum v1alpha1.RPCLatencySummary, found workload.RPC) {
	for n, one := range found.RoundTrips {
		r := v1alpha1.TrialRecord{Role: "round", Tried: int64(n + 1), Verdict: v1alpha1.TrialPassed}
		record.AddFigure(&r, "roundTripRoundP50Ns", int64(workload.Percentile(one, 50)))
		if n < len(found.BackToBack) {
			record.AddFigure(&r, "backToBackRoundP50Ns", int64(workload.Percentile(found.BackToBack[n], 50)))
		}
		tester.Log.Add(r)
	}
	r := v1alpha1.TrialRecord{Role: "rpc", Tried: int64(step.MessageSize), Verdict: v1alpha1.TrialPassed}
	for _, of := range []struct {
		name   string
		rounds [][]time.Duration
		times  *v1alpha1.RoundTripTimes
	}{{"roundTrip", found.RoundTrips, &sum.RoundTrip}, {"backToBack", found.BackToBack, sum.BackToBack}} {
		for _, took := range slices.Concat(of.rounds...) {
			record.AddFigure(&r, of.name+"Ns", int64(took))
		}
		if of.times == nil {
			continue
		}
		record.AddFigure(&r, of.name+"P50Ns", of.times.P50Ns)
		record.AddFigure(&r, of.name+"P90Ns", of.times.P90Ns)
		record.AddFigure(&r, of.name+"P99Ns", of.times.P99Ns)
		record.AddFigure(&r, of.name+"P999Ns", of.times.P999Ns)
	}
	record.AddFigure(&r, "mtu", int64(sum.MTU))
	record.AddFigure(&r, "retransmissions", sum.Retransmissions)
	record.AddFigure(&r, "busyPPM", sum.BusyPPM)
	record.AddFigure(&r, "softnetDrops", int64(found.Limits.SoftnetDrops))
	tester.Log.Add(r)
}

// describeRPCRow explains a row to a person.
func describeRPCRow(sum v1alpha1.RPCLatencySummary, found workload.RPC) string {
	text := fmt.Sprintf("congestion control %s, MTU %d", sum.CongestionControl, sum.MTU)
	if found.NoReference != "" {
		text += "; the share of the device is not known: " + found.NoReference
	}
	return text
}
