package main

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/report"
	"nodrop.dev/nodrop/internal/runner"
)

// runView shows a run in this process: every finished row, and once a second
// the trial in hand with the time left.
type runView struct {
	live  *live
	rows  int
	last  runner.State
	at    time.Time
	dirty bool
}

// follow shows states until the run has ended, and returns the last one.
// Interrupt is called once, when somebody wants the run to stop.
func (v *runView) follow(states <-chan runner.State, ended <-chan runner.State, interrupted context.Context, interrupt func()) runner.State {
	defer v.live.clear()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	stopping := interrupted.Done()
	for {
		select {
		case state := <-states:
			v.see(state)
		case state := <-ended:
			v.see(state)
			return state
		case <-second.C:
			v.tick()
		case <-stopping:
			stopping = nil
			v.live.keep("stopping: the trial in hand is given up, finished rows are kept")
			interrupt()
		}
	}
}

func (v *runView) see(state runner.State) {
	for _, row := range state.Rows[min(v.rows, len(state.Rows)):] {
		v.live.keep(report.RowLine(row))
	}
	v.rows = max(v.rows, len(state.Rows))
	v.last, v.at, v.dirty = state, v.live.now(), true
	if v.live.width > 0 {
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
	passed := int64(v.live.now().Sub(v.at) / time.Second)
	key, text := progressLine(progress, max(0, progress.SecondsLeft-passed))
	v.live.update(key, text)
}

// progressLine says how far a run is, and gives a key that changes whenever more
// than the time left does.
func progressLine(p v1alpha1.Progress, secondsLeft int64) (key, text string) {
	key = fmt.Sprint(p.Trial, " ", p.RowsDone, " ", p.TrialsDone)
	row := fmt.Sprintf("row %d of %d, about %s left", min(p.RowsDone+1, p.RowsTotal), p.RowsTotal, time.Duration(secondsLeft)*time.Second)
	return key, joinNonEmpty(": ", row, p.Trial)
}
