package method

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

// statelessTrial is a trial whose frames went to the client of an incast, next to its connections.
type statelessTrial struct {
	*trials.Trial
	segments workload.Segments
}

// longestIncast bounds the time for which frames are sent next to an incast: each iteration may take 1 s longer than the blocks do
// at 100 Mbit/s.
func longestIncast(r workload.IncastRequest) time.Duration {
	const perByte = 80 * time.Nanosecond
	one := time.Second + time.Duration(r.Bytes())*perByte
	return time.Minute + time.Duration(r.Iterations)*one
}

// incastNextToFrames opens the connections, sends frames to the port of the client until all blocks have arrived, and
// removes the connections once no packet is on its way any more. It adds the frames to the request, for engines that model
// the device, and begins to count its drops.
func incastNextToFrames(ctx context.Context, tester *trials.Tester, step plan.Step, request *workload.IncastRequest, drops *dropCount) (found workload.Incast, next *statelessTrial, err error) {
	sized := step
	sized.Size = plan.Bytes(int(step.Test.Incast.Stateless.FrameSize))
	if err := tester.Configure(ctx, sized); err != nil {
		return found, nil, fmt.Errorf("preparing the stateless frames: %w", err)
	}
	loads, rate, err := loadsTo(tester.Plan, sized, request.Client)
	if err != nil {
		return found, nil, err
	}
	request.Stateless = &workload.StatelessFrames{Bytes: sized.Size.Bytes, PerSecond: rate}
	connect := func() (struct{}, error) { return struct{}{}, tester.Workload.ConnectIncast(ctx, *request) }
	// What can fail does so before the trial, which is repeated if something fails in it.
	if _, err := uninterrupted(ctx, connect); err != nil {
		return found, nil, err
	}
	begin := func(_ context.Context, again bool) (err error) {
		if again {
			_, err = connect()
		}
		return cmp.Or(err, drops.begin(tester, request.Client))
	}
	run := func(ctx context.Context) (workload.Incast, error) { return tester.Workload.Incast(ctx, *request) }
	longest := longestIncast(*request)
	answer, trial, err := nextToHosts(ctx, tester, sized, loads, longest, run, begin)
	segments, left := tester.Workload.DisconnectIncast(context.WithoutCancel(ctx))
	switch err = cmp.Or(err, left); {
	case err != nil:
		return found, nil, err
	case answer == nil:
		return found, nil, fmt.Errorf("%d servers did not send %d blocks each within %s, for which stateless frames were sent: lower iterations or stateless.load", len(request.Blocks), request.Iterations, longest)
	}
	return *answer, &statelessTrial{trial, segments}, nil
}

// frameCheck is the number of bytes of a frame that the counters of an interface leave out.
const frameCheck = 4

// summarize makes the figures of the frames next to an incast.
func (s *statelessTrial) summarize(step plan.Step, incast v1alpha1.IncastSummary) *v1alpha1.StatelessFrames {
	size := step.Test.Incast.Stateless.FrameSize
	frames, tcp := int64(s.Received)*int64(size), incast.ReceivedBytes+incast.ReceivedPackets*frameCheck
	return &v1alpha1.StatelessFrames{
		LoadPPM: step.LoadPPM, FrameSize: size, OfferedFramesPerSecond: frame.Round(s.OfferedRate()),
		Sent: int64(s.Sent), Received: int64(s.Received), Lost: int64(s.Lost), LossPPM: trials.SharePPM(s.Lost, s.Sent),
		Latency: s.Counters.Latency().Summary(s.Received), BitsPerSecond: trials.PerSecond(8*frames, s.TxTime), TCPBitsPerSecond: trials.PerSecond(8*tcp, s.TxTime),
		SharePPM: trials.SharePPM(uint64(frames), uint64(frames+tcp)), TCPSegmentsLost: int64(s.segments.Lost()),
	}
}

// loadsTo returns the loads of the streams to a port, and their frames in a second.
func loadsTo(p plan.Plan, sized plan.Step, port string) (loads map[uint16]traffic.Load, rate int64, err error) {
	at := p.At(sized.Size)
	all, err := at.Loads(sized.Amount)
	if err != nil {
		return nil, 0, err
	}
	streams, sum := at.Streams(), new(big.Rat)
	loads = map[uint16]traffic.Load{}
	for _, id := range toClient(streams, p.Ports, port) {
		loads[id] = all[id]
	}
	for _, s := range streams {
		if _, sends := loads[s.ID]; sends {
			sum.Add(sum, at.Rate(s, sized.Amount))
		}
	}
	return loads, max(1, frame.Round(sum)), nil
}
