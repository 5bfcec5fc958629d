package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const xdpMethods = `apiVersion: nodrop.dev/v1alpha1
kind: Benchmark
metadata: {name: methods}
spec:
  testBedName: frr
  trafficProfileName: pairs
  settleTime: 100ms
  restTime: 0s
  tests:
  - name: throughput
    throughput: {resolution: 5%, minLoad: 0.5%, maxLoad: 10%, trialDuration: 300ms, searchTrialDuration: 200ms}
  - name: loss
    frameLoss: {maxLoad: 4%, step: 1%, trialDuration: 300ms}
  - name: bursts
    backToBack: {repetitions: 2, maxBurstDuration: 20ms, resolutionFrames: 50}
  - name: soak
    soak: {load: throughput, duration: 1s}
  - name: overload
    forwardingRate: {maxLoad: 10%, step: 5%, trialDuration: 300ms}
  - name: recovery
    recovery: {overloadDuration: 300ms, reducedDuration: 300ms, repetitions: 2}
  - name: averaged
    rfc2544Latency: {load: 1%, trialDuration: 300ms, repetitions: 3}
  - name: order
    ordering: {loads: [1%, 3%], trialDuration: 300ms}
`

// The methods run over a real Linux router with real frames. What a busy machine
// measures is not known, but its numbers must agree with each other.
func TestRunMethodsOverRouter(t *testing.T) {
	rows := map[v1alpha1.Method][]v1alpha1.ResultRow{}
	manifests, sizes := xdpManifests, 2
	if testing.Short() { // TestJumbo of the engine has the larger size.
		manifests, sizes = strings.Replace(xdpManifests, "frameSizes: [128, 9216]", "frameSizes: [128]", 1), 1
	}
	document := runHere(t, xdpMethods, manifests)
	for _, row := range document.Rows {
		rows[row.Method] = append(rows[row.Method], row)
		if row.Frames.Sent == 0 || row.Frames.Received != row.Frames.Sent-row.Frames.Lost || row.Frames.OfferedFramesPerSecond == 0 {
			t.Errorf("%s %d B %s: %+v", row.Test, row.FrameSize, row.Load, row)
		}
		if row.Frames.LossPPM != nil && (*row.Frames.LossPPM > 0) != (row.Frames.Lost > 0) {
			t.Errorf("%s %d B %s: %d lost are %d ppm", row.Test, row.FrameSize, row.Load, row.Frames.Lost, *row.Frames.LossPPM)
		}
		t.Log(report.RowLine(row))
	}
	bySize := map[int32][]v1alpha1.ResultRow{}
	for _, row := range rows[v1alpha1.MethodFrameLoss] {
		bySize[row.FrameSize] = append(bySize[row.FrameSize], row)
	}
	for size, list := range bySize {
		last, before := list[len(list)-1], list[max(len(list)-2, 0)]
		if list[0].Load != "4%" || len(list) < 2 || len(list) < 4 && last.Frames.Lost+before.Frames.Lost > 0 {
			t.Errorf("frame loss at %d B: %d rows, the last with %d and %d lost", size, len(list), before.Frames.Lost, last.Frames.Lost)
		}
	}
	for _, row := range rows[v1alpha1.MethodBackToBack] {
		b := row.BackToBack
		if b == nil || b.MinFrames > b.AvgFrames || b.AvgFrames > b.MaxFrames || b.MaxFrames < 1 || b.BufferNs > 20_000_000 {
			t.Errorf("bursts of %d B: %+v", row.FrameSize, b)
			continue
		}
		// Either a buffer time that is corrected, or the greatest burst passed.
		if (b.CorrectedBufferNs == nil) != strings.Contains(row.Message, "holds at least that") {
			t.Errorf("bursts of %d B: %+v, %q", row.FrameSize, b, row.Message)
		}
	}
	for _, row := range rows[v1alpha1.MethodSoak] {
		if row.Frames.TrialMilliseconds != 1000 || row.Frames.ReceivedFramesPerSecond == nil || *row.Frames.ReceivedFramesPerSecond > row.Frames.FramesPerSecond {
			t.Errorf("soak of %d B: %+v", row.FrameSize, row)
		}
	}
	for _, row := range rows[v1alpha1.MethodForwardingRate] {
		if f := row.ForwardingRate; f == nil || f.AtMaxLoad > f.Max || f.Max > row.Frames.FramesPerSecond || f.MaxLoadPPM < 50_000 {
			t.Errorf("forwarding rate of %d B: %+v", row.FrameSize, f)
		}
	}
	for _, row := range rows[v1alpha1.MethodRecovery] {
		r := row.Recovery
		if r == nil || r.Repetitions != 2 || r.MinNs > r.AvgNs || r.AvgNs > r.MaxNs || r.MaxNs > 300_000_000 || r.OverloadPPM <= r.ReducedPPM {
			t.Errorf("recovery of %d B: %+v", row.FrameSize, r)
		}
	}
	for _, row := range rows[v1alpha1.MethodRFC2544Latency] {
		l := row.RFC2544Latency
		if l == nil || l.Repetitions != 3 || l.MinNs <= 0 || l.MinNs > l.AvgNs || l.AvgNs > l.MaxNs {
			t.Errorf("averaged latency of %d B: %+v", row.FrameSize, l)
		}
	}
	for _, row := range rows[v1alpha1.MethodOrdering] {
		if o := row.Ordering; o == nil || (o.ReorderedPPM > 0) != (*row.Frames.Reordered > 0) || *row.Frames.Reordered > 0 && o.OnsetPPM == 0 {
			t.Errorf("order of %d B: %+v", row.FrameSize, o)
		}
	}
	for name, least := range map[v1alpha1.Method]int{
		v1alpha1.MethodThroughput: 1, v1alpha1.MethodFrameLoss: 2, v1alpha1.MethodBackToBack: 1,
		v1alpha1.MethodSoak: 1, v1alpha1.MethodForwardingRate: 1, v1alpha1.MethodOrdering: 2, v1alpha1.MethodRecovery: 1,
		v1alpha1.MethodRFC2544Latency: 1,
	} {
		if least *= sizes; len(rows[name]) < least {
			t.Errorf("%d rows of %s, want at least %d", len(rows[name]), name, least)
		}
	}
}
