package method

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

// collectives lets hosts sum or exchange messages of one size, again and again. No frames are sent.
func collectives(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	request := collectiveRequest(step.Test.Collectives, step.MessageSize, portNames(tester.Plan.Ports))
	found, err := uninterrupted(ctx, func() (workload.Collective, error) { return tester.Workload.Collective(ctx, request) })
	if err != nil {
		return trials.Outcome{}, err
	}
	sum := summarizeCollectives(request, found)
	noteCollectives(tester, request, sum, found)
	out := trials.Outcome{
		Doubt: found.Limits.Doubt(), Message: describeCollectivesRow(request, found),
		Fill: func(row *v1alpha1.ResultRow) { row.Collectives, row.Frames = &sum, nil },
	}
	texts := request.Differences(found.Settings)
	if found.Wrong > 0 {
		texts = append(texts, fmt.Sprintf("%d results are wrong: %s", found.Wrong, found.Example))
	}
	out.Invalid = strings.Join(texts, "; ")
	return out, nil
}

// summarizeCollectives makes the figures of a row.
func summarizeCollectives(r workload.CollectiveRequest, found workload.Collective) v1alpha1.CollectivesSummary {
	numerator, denominator := r.BusFactor()
	sum := v1alpha1.CollectivesSummary{
		Algorithm: v1alpha1.CollectiveAlgorithm(r.Algorithm), Hosts: int32(r.Hosts),
		CongestionControl: found.Settings.CongestionControl, MTU: int32(found.Settings.MTU), Repetitions: int64(len(found.Completions)),
		Completion: v1alpha1.CompletionTimes{
			AvgNs: int64(average(found.Completions)), P50Ns: int64(workload.Percentile(found.Completions, 50)),
			P99Ns: int64(workload.Percentile(found.Completions, 99)), MaxNs: int64(workload.Percentile(found.Completions, 100)),
		},
		AlgorithmBitsPerSecond: collectiveRate(r, found, 1, 1), BusBitsPerSecond: collectiveRate(r, found, numerator, denominator),
		LocalPPM: localPPM(r), Retransmissions: int64(found.Retransmissions), WrongResults: found.Wrong, BusyPPM: found.Limits.BusyPPM,
	}
	for _, step := range found.Steps {
		sum.StepP50Ns = append(sum.StepP50Ns, int64(workload.Percentile(step, 50)))
	}
	if s := r.Slowest(found); s != nil {
		sum.SlowPort = s.Port
		sum.SlowestLink = &v1alpha1.SlowestLink{
			FromHost: int32(s.From + 1), FromPort: r.Port(s.From), ToHost: int32(s.To + 1), ToPort: r.Port(s.To),
			P50Ns: int64(s.Time), OthersP50Ns: int64(s.Others), Slow: s.Slow,
		}
		if p := found.Probes; p != nil {
			sum.SlowestLink.Probes = &v1alpha1.LinkProbes{IntoNs: int64(p.Into), OutOfNs: int64(p.OutOf), OtherPortsNs: int64(p.Reference)}
		}
	}
	return sum
}

// collectiveRate returns the bits of a message over the mean completion time, times a factor.
func collectiveRate(r workload.CollectiveRequest, found workload.Collective, numerator, denominator int64) int64 {
	took := total(found.Completions)
	if took <= 0 {
		return 0
	}
	bits := new(big.Int).Mul(big.NewInt(8*r.Bytes*int64(len(found.Completions))), big.NewInt(numerator*int64(time.Second)))
	return frame.Round(new(big.Rat).SetFrac(bits, new(big.Int).Mul(big.NewInt(int64(took)), big.NewInt(denominator))))
}

// localPPM returns the part of the bytes of an operation that does not pass the device.
func localPPM(r workload.CollectiveRequest) int64 {
	var local, all int64
	for _, t := range r.Schedule() {
		all += t.Bytes
		if r.Local(t.From, t.To) {
			local += t.Bytes
		}
	}
	return trials.SharePPM(uint64(local), uint64(all))
}

// noteCollectives adds to the log of the row what it is computed from: the completion times, the times of links, and the counts
// and settings that were read.
func noteCollectives(tester *trials.Tester, request workload.CollectiveRequest, sum v1alpha1.CollectivesSummary, found workload.Collective) {
	r := v1alpha1.TrialRecord{Role: "collective", Tried: request.Bytes, Verdict: v1alpha1.TrialPassed}
	if found.Wrong > 0 {
		r.Verdict = v1alpha1.TrialFailed
	}
	for _, took := range found.Completions {
		record.AddFigure(&r, "completionNs", int64(took))
	}
	for _, l := range found.Links {
		if !request.Local(l.From, l.To) {
			record.AddFigure(&r, "linkP50Ns", int64(l.Time))
		}
		record.AddFigure(&r, "linkRetransmissions", int64(l.Retransmissions))
	}
	for _, took := range sum.StepP50Ns {
		record.AddFigure(&r, "stepP50Ns", took)
	}
	add := func(name string, value int64) { record.AddFigure(&r, name, value) }
	add("completionP50Ns", sum.Completion.P50Ns)
	add("completionP99Ns", sum.Completion.P99Ns)
	add("hosts", int64(sum.Hosts))
	add("mtu", int64(sum.MTU))
	add("localPPM", sum.LocalPPM)
	add("wrongResults", sum.WrongResults)
	if l := sum.SlowestLink; l != nil {
		add("slowestFromHost", int64(l.FromHost))
		add("slowestToHost", int64(l.ToHost))
		add("othersP50Ns", l.OthersP50Ns)
		if l.Probes != nil {
			add("probeIntoNs", l.Probes.IntoNs)
			add("probeOutOfNs", l.Probes.OutOfNs)
			add("probeOtherPortsNs", l.Probes.OtherPortsNs)
		}
	}
	add("busyPPM", sum.BusyPPM)
	add("softnetDrops", int64(found.Limits.SoftnetDrops))
	tester.Log.Add(r)
}

// describeCollectivesRow explains a row to a person.
func describeCollectivesRow(r workload.CollectiveRequest, found workload.Collective) string {
	text := fmt.Sprintf("%s of %d hosts, congestion control %s, MTU %d", r.Algorithm, r.Hosts, found.Settings.CongestionControl, found.Settings.MTU)
	s := r.Slowest(found)
	if s == nil {
		return text
	}
	link := fmt.Sprintf("host %d on port %s to host %d on port %s: %s for a transfer, and the other links %s", s.From+1, r.Port(s.From), s.To+1, r.Port(s.To), s.Time.Round(time.Microsecond), s.Others.Round(time.Microsecond))
	switch {
	case !s.Slow:
		return text + "; no port is slow"
	case s.Port != "" && s.Out:
		return text + fmt.Sprintf("; port %s is slow, for data that the device sends by it. The slowest link is from %s", s.Port, link)
	case s.Port != "":
		return text + fmt.Sprintf("; port %s is slow, for data that the device receives by it. The slowest link is from %s", s.Port, link)
	case found.Probes == nil:
		return text + "; a link is slow, and the bed has too few other ports to tell which port is the reason. It is from " + link
	}
	return text + "; a link is slow, and single transfers did not tell which port is the reason. It is from " + link
}
