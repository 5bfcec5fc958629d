package method

import (
	"context"
	"fmt"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/workload"
)

// bulk moves the data of a test. No frames are sent.
func bulk(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	t := step.Test.Bulk
	request := workload.BulkRequest{
		Bytes: bulkSize(t), Duration: t.Duration.Duration, Connections: int(t.Connections), MTU: int(t.MTU), CongestionControl: t.CongestionControl,
	}
	request.Sender, request.Receiver = clientAndServer(t.Sender, t.Receiver, tester.Plan.Ports)
	found, err := uninterrupted(ctx, func() (workload.Bulk, error) { return tester.Workload.Bulk(ctx, request) })
	if err != nil {
		return trials.Outcome{}, err
	}
	sum := summarizeBulk(found)
	noteBulk(tester, step, sum, found)
	return trials.Outcome{
		Doubt: found.Doubt(), Invalid: strings.Join(bulkProblems(request, found), "; "),
		Message: fmt.Sprintf("congestion control %s, MTU %d", sum.CongestionControl, sum.MTU),
		Fill:    func(row *v1alpha1.ResultRow) { row.Bulk, row.Frames = &sum, nil },
	}, nil
}

// bulkProblems describes data that did not arrive, and settings that were not in force.
func bulkProblems(request workload.BulkRequest, found workload.Bulk) (texts []string) {
	lost := 0
	for _, c := range found.Connections {
		if c.Problem == "" {
			continue
		}
		if lost++; lost == 1 {
			texts = append(texts, c.Problem)
		}
	}
	if lost > 1 {
		texts = append(texts, fmt.Sprintf("%d of %d connections were lost", lost, len(found.Connections)))
	}
	if got := found.Received(); request.Bytes > 0 && got != request.Bytes {
		texts = append(texts, fmt.Sprintf("%d of %d bytes of the data set arrived", got, request.Bytes))
	}
	return append(texts, request.Differences(found.Settings)...)
}

// summarizeBulk makes the figures of a row.
func summarizeBulk(found workload.Bulk) v1alpha1.BulkSummary {
	sum := v1alpha1.BulkSummary{
		CongestionControl: found.Settings.CongestionControl, MTU: int32(found.Settings.MTU),
		SentBytes: found.Sent(), ReceivedBytes: found.Received(), TookNs: int64(found.Took), GoodputBitsPerSecond: goodput(found.Received(), 1, found.Took),
		Timeouts: int64(found.Timeouts), SendBufferBytes: int64(found.Settings.SendBuffer), ReceiveBufferBytes: int64(found.Settings.ReceiveBuffer),
		BusyPPM: found.Limits.BusyPPM,
	}
	var busy, limited time.Duration
	for n, c := range found.Connections {
		sum.ReceivedByConnection = append(sum.ReceivedByConnection, c.Received)
		sum.RetransmissionsByConnection = append(sum.RetransmissionsByConnection, int64(c.TCP.Retransmissions))
		sum.Retransmissions += int64(c.TCP.Retransmissions)
		if c.Problem != "" {
			sum.LostConnections++
		}
		share := trials.SharePPM(uint64(c.Received), uint64(sum.ReceivedBytes))
		if n == 0 || share < sum.SmallestSharePPM {
			sum.SmallestSharePPM = share
		}
		sum.LargestSharePPM = max(sum.LargestSharePPM, share)
		busy, limited = busy+c.TCP.Busy, limited+c.TCP.WindowLimited
	}
	if busy > 0 {
		sum.WindowLimitedPPM = int64(float64(limited) / float64(busy) * float64(v1alpha1.PPM))
	}
	if sender, receiver := found.CPUPPM(); sender+receiver > 0 {
		sum.SenderCPUPPM, sum.ReceiverCPUPPM = &sender, &receiver
	}
	return sum
}

// noteBulk adds to the log of the row what it is computed from: the counts of each connection, and times and settings that were
// read.
func noteBulk(tester *trials.Tester, step plan.Step, sum v1alpha1.BulkSummary, found workload.Bulk) {
	r := v1alpha1.TrialRecord{Role: "bulk", Tried: int64(step.Test.Bulk.Connections), Verdict: v1alpha1.TrialPassed}
	for _, c := range found.Connections {
		record.AddFigure(&r, "sentBytes", c.Sent)
		record.AddFigure(&r, "receivedBytes", c.Received)
		record.AddFigure(&r, "retransmissions", int64(c.TCP.Retransmissions))
		record.AddFigure(&r, "senderCPUNs", int64(c.SenderCPU))
		record.AddFigure(&r, "receiverCPUNs", int64(c.ReceiverCPU))
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"tookNs", sum.TookNs}, {"mtu", int64(sum.MTU)}, {"timeouts", sum.Timeouts}, {"lostConnections", sum.LostConnections},
		{"sendBufferBytes", sum.SendBufferBytes}, {"receiveBufferBytes", sum.ReceiveBufferBytes}, {"windowLimitedPPM", sum.WindowLimitedPPM},
		{"busyPPM", sum.BusyPPM}, {"softnetDrops", int64(found.Limits.SoftnetDrops)}, {"busiestPPM", found.BusiestPPM()},
	} {
		record.AddFigure(&r, f.name, f.value)
	}
	tester.Log.Add(r)
}
