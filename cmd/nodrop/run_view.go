package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// runView shows a run in this process: every finished row, and once a second
// the trial in hand with the time left, and with what each port does in it.
type runView struct {
	live *terminal.Live
	// intervals of the trial in hand, the last one only; see watch.
	intervals chan trials.Interval
	// problems are shown at once and stay on the screen.
	problems chan error
	rows     int
	last     runner.State
	at       time.Time
	dirty    bool
	// interval is the last one of the trial in hand; its length is 0 while there is none.
	interval trials.Interval
	// began is the time of the first state.
	began time.Time
}

// newRunView shows a run on out.
func newRunView(out io.Writer) *runView {
	return &runView{live: terminal.NewLive(out), intervals: make(chan trials.Interval, 1), problems: make(chan error, 1)}
}

// every returns the interval at which the view reads the port counters: each second if lines
// are rewritten, and else several times for each line.
func (v *runView) every() time.Duration {
	if v.live.Width > 0 {
		return time.Second
	}
	return terminal.LineInterval / 6
}

// watch takes an interval in place of one that was not shown. It does not wait.
func (v *runView) watch(i trials.Interval) {
	select {
	case <-v.intervals:
	default:
	}
	select {
	case v.intervals <- i:
	default:
	}
}

// lost reports that finished rows cannot be kept any more. It does not block.
func (v *runView) lost(err error) {
	if err == nil {
		return
	}
	select {
	case v.problems <- fmt.Errorf("this run cannot be resumed: %w", err):
	default:
	}
}

// follow shows states until the run has ended, and returns the last one. It calls interrupt
// once, when interrupted ends.
func (v *runView) follow(states <-chan runner.State, ended <-chan runner.State, interrupted context.Context, interrupt func()) runner.State {
	defer v.live.Clear()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	resized, stop := terminal.Resized()
	defer stop()
	stopping := interrupted.Done()
	for {
		select {
		case state := <-states:
			v.see(state)
		case state := <-ended:
			v.see(state)
			return state
		case i := <-v.intervals:
			v.interval = i
			v.tick()
		case err := <-v.problems:
			v.live.Keep("nodrop: " + err.Error())
		case <-resized:
			v.live.Redraw()
		case <-second.C:
			v.tick()
		case <-stopping:
			stopping = nil
			v.live.Keep("stopping: the trial in hand is given up, finished rows are kept")
			interrupt()
		}
	}
}

func (v *runView) see(state runner.State) {
	for _, row := range state.Rows[min(v.rows, len(state.Rows)):] {
		v.live.KeepVerdict(report.RowLine(row), string(row.Validity))
	}
	v.rows = max(v.rows, len(state.Rows))
	if trialKey(state.Progress) != trialKey(v.last.Progress) {
		v.interval = trials.Interval{}
		select {
		case <-v.intervals: // Of the trial before.
		default:
		}
	}
	v.last, v.at, v.dirty = state, v.live.Now(), true
	if v.began.IsZero() {
		v.began = v.at
	}
	if v.live.Width > 0 {
		v.tick()
	}
}

// tick shows the last state with the time left by now. Trials that are over
// before a second has passed are not shown one by one.
func (v *runView) tick() {
	if !v.dirty || v.last.Done {
		return
	}
	progress := v.last.Progress
	passed := int64(v.live.Now().Sub(v.at) / time.Second)
	left := max(0, progress.SecondsLeft-passed)
	text := progressLine(progress, left)
	v.live.Progress(doneOf(v.live.Now().Sub(v.began), left))
	key := trialKey(progress)
	switch {
	case v.interval.Length == 0:
		v.live.Update(key, text)
	case v.live.Width > 0:
		v.live.Update(key, text, report.IntervalTable(v.interval, min(v.live.Height-3, portLines), v.live.Width-1)...)
	default:
		v.live.Update(key, text+": "+report.IntervalLine(v.interval))
	}
}

// doneOf returns the part of a run that is done, from the time that it took so far and the seconds left.
func doneOf(took time.Duration, secondsLeft int64) float64 {
	if all := took.Seconds() + float64(secondsLeft); all > 0 {
		return took.Seconds() / all
	}
	return 0
}

// portLines is the maximum number of lines about ports.
const portLines = 14

// trialKey changes whenever more than the time left does.
func trialKey(p v1alpha1.Progress) string {
	return fmt.Sprint(p.Trial, " ", p.RowsDone, " ", p.TrialsDone)
}

// progressLine describes the progress of a run.
func progressLine(p v1alpha1.Progress, secondsLeft int64) string {
	row := fmt.Sprintf("row %d of %d, about %s left", min(p.RowsDone+1, p.RowsTotal), p.RowsTotal, time.Duration(secondsLeft)*time.Second)
	return human.Join(": ", row, p.Trial)
}
