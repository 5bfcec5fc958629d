package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// The columns of a method stand in the table in place of latency and jitter, in
// the line of a finished row, and are not said again in the notes.
func TestOwnColumnsOfMethods(t *testing.T) {
	loss, received, corrected := int64(550_000), int64(26_785_714), int64(67_450)
	row := func(test string, m v1alpha1.Method) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{
			RowID:  v1alpha1.RowID{Test: test, Method: m, FrameSize: 64},
			Frames: &v1alpha1.FrameSection{LineRatePPM: v1alpha1.PPM, FramesPerSecond: 59_523_810, BitsPerSecond: 59_523_810 * 512, OfferedFramesPerSecond: 59_523_810, Sent: 100, Received: 45, Lost: 55, Duplicate: new(int64), Reordered: new(int64)}, Validity: v1alpha1.ValidityValid,
		}
	}
	frameLoss := row("loss", v1alpha1.MethodFrameLoss)
	frameLoss.Load, frameLoss.Frames.LossPPM, frameLoss.Frames.ReceivedFramesPerSecond = "100%", &loss, &received
	bursts := row("bursts", v1alpha1.MethodBackToBack)
	bursts.Frames.Lost = 0
	bursts.BackToBack = &v1alpha1.BackToBackSummary{Repetitions: 50, AvgFrames: 3999, MinFrames: 3989, MaxFrames: 4022, StddevFrames: 9, BufferNs: 268_725, CorrectedBufferNs: &corrected}
	none := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "bursts", Method: v1alpha1.MethodBackToBack, FrameSize: 1518}, Frames: &v1alpha1.FrameSection{}, Message: "not measured: line rate", Validity: v1alpha1.ValidityValid}
	order := row("order", v1alpha1.MethodOrdering)
	order.Load, order.Frames.Reordered, order.Frames.OutOfSequence = "50%", new(int64(51)), new(int64(153))
	order.Ordering = &v1alpha1.OrderingSummary{ReorderedPPM: 5100, OutOfSequencePPM: 15_300, OnsetPPM: 432_812, Reordering: &v1alpha1.ReorderingSummary{
		ExtentMaxFrames: 3, LateMaxNs: 20_000, NMax: 3, NReordered: []v1alpha1.NReordering{{N: 1, Frames: 51, PPM: 5100}, {N: 3, Frames: 10, PPM: 1000}},
	}}
	d := &Document{Rows: []v1alpha1.ResultRow{frameLoss, bursts, none, order}}
	d.Spec.Tests = []v1alpha1.Test{{Name: "loss", FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "100%", Step: "10%"}}}
	text := d.Text()
	for _, want := range []string{
		"Test loss: share of lost frames at falling loads, until two lost nothing (RFC 2544 section 26.3)",
		"64  100%      59,523,810  30.476   100.0000  26,785,714  55.0000      55  Valid",
		"3,999  3,989  4,022       9  268.725     67.450       0  Valid",
		"1518           -       -          -      -      -      -       -        -          -       -  Valid",
		"51  0.5100      153  1.5300           3   20.000       0.1000    43.2812      55  Valid",
		"loss: from 100% of line rate down by 10%",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"latency", "of 45 frames reordered", "64 B at 100%: lost"} {
		if strings.Contains(text, not) {
			t.Errorf("%q in\n%s", not, text)
		}
	}
	if got, want := RowLine(none), "bursts 1518 B: not measured: line rate, Valid"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got, want := RowLine(bursts), "burst avg 3,999 frames, burst min 3,989 frames, burst max 4,022 frames, burst stddev 9 frames, buffer time implied 268.725 us, buffer time corrected 67.450 us, Valid"; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end %s", got, want)
	}
	if got := RowLine(frameLoss); !strings.Contains(got, "received 26,785,714 frames/s, loss 55.0000 %, 55 frames lost") {
		t.Error(got)
	}
}

// A yes or no is a word in the table and in the line of a row; what is not known is
// neither.
func TestYesNoColumns(t *testing.T) {
	yes, no := true, false
	row := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "congestion", Method: v1alpha1.MethodCongestionControl, FrameSize: 64}, Frames: &v1alpha1.FrameSection{OfferedFramesPerSecond: 19}, Validity: v1alpha1.ValidityValid}
	row.CongestionControl = &v1alpha1.CongestionControlSummary{BackPressure: &yes, HeadOfLineBlocking: &no, CongestedLossPPM: 333_333}
	open := row
	open.CongestionControl = &v1alpha1.CongestionControlSummary{}
	d := &Document{Rows: []v1alpha1.ResultRow{row, open}}
	text := d.Text()
	for _, want := range []string{"yes            no        19", "-             -        19"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if line := RowLine(row); !strings.Contains(line, "back pressure yes, head of line blocking no, offered 19 frames/s") {
		t.Error(line)
	}
	if line := RowLine(open); strings.Contains(line, "back pressure") {
		t.Error(line)
	}
}
