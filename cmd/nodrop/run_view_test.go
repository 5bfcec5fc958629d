package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/traffic"
)

// inHand is a state with a trial that runs.
func inHand(trial string) runner.State {
	return runner.State{Progress: v1alpha1.Progress{Trial: trial, RowsTotal: 4, SecondsLeft: 40}}
}

func anInterval() trials.Interval {
	return trials.Interval{Length: time.Second, At: time.Second, Gaps: true, Ports: []trials.PortInterval{{
		ClassAt: traffic.ClassAt{Port: "p1", Class: "unicast"},
		Tx:      traffic.TxSample{Sent: 1234, Bytes: 1234 * 64}, TxTotal: traffic.TxSample{Sent: 1234},
	}}}
}

// A terminal shows what each port does in the trial in hand, and takes it back when the
// next one begins; a log has it in the line a minute.
func TestViewShowsWhatThePortsDo(t *testing.T) {
	sendsNoFrames(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	show := func(out *bytes.Buffer, width, height int) {
		v := newRunView(out)
		v.live.Width, v.live.Height, v.live.Now = width, height, func() time.Time { return now }
		v.see(inHand("throughput 64 B: 50% for 60s"))
		v.tick()
		v.watch(trials.Interval{}) // One that was not read is replaced.
		v.watch(anInterval())
		v.interval = <-v.intervals
		now = now.Add(time.Minute)
		v.tick()
		v.watch(anInterval())
		v.see(inHand("throughput 64 B: 75% for 60s"))
		v.tick()
		v.live.Clear()
	}
	var terminal, log bytes.Buffer
	show(&terminal, 120, 30)
	text := terminal.String()
	if !strings.Contains(text, "row 1 of 4, about 0s left: throughput 64 B: 50% for 60s\n") || !strings.Contains(text, "  p1       1,234") {
		t.Errorf("terminal: %q", text)
	}
	if after, ok := strings.CutPrefix(text[strings.Index(text, "1,234"):], "1,234   0.632\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K"); !ok || strings.Contains(after, "1,234") || !strings.HasSuffix(after, "75% for 60s\r\x1b[K") {
		t.Errorf("after the ports: %q", text)
	}
	now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	show(&log, 0, 0)
	want := `03:04:05 row 1 of 4, about 40s left: throughput 64 B: 50% for 60s
03:05:05 row 1 of 4, about 0s left: throughput 64 B: 50% for 60s: offered 1,234 frames/s, 0.632 Mbit/s, received 0 frames/s, 0 lost
03:05:05 row 1 of 4, about 40s left: throughput 64 B: 75% for 60s
`
	if log.String() != want {
		t.Errorf("log:\n%s\nwant:\n%s", &log, want)
	}
}

// An interval of the trial before is not shown as one of the next.
func TestViewForgetsTheTrialBefore(t *testing.T) {
	sendsNoFrames(t)
	v := newRunView(&bytes.Buffer{})
	v.see(inHand("first"))
	v.interval = anInterval()
	v.watch(anInterval())
	v.see(inHand("second"))
	if v.interval.Length != 0 || len(v.intervals) != 0 {
		t.Errorf("%+v is left", v.interval)
	}
}
