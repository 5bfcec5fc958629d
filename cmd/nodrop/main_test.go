//go:build !standalone

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
)

func TestExitCodesNeverChange(t *testing.T) {
	for phase, code := range map[v1alpha1.BenchmarkPhase]int{
		v1alpha1.PhasePassed: 0, v1alpha1.PhaseMeasured: 0, v1alpha1.PhaseFailed: 2, v1alpha1.PhaseInvalid: 3,
		v1alpha1.PhaseAborted: 4, v1alpha1.PhaseError: 5, v1alpha1.PhaseInconclusive: 7, v1alpha1.PhaseRunning: 6, v1alpha1.PhaseQueued: 6,
	} {
		got := 0
		if err := exit.Outcome(phase); err != nil {
			got = exit.Explain(io.Discard, "nodrop", err)
		}
		if got != code {
			t.Errorf("%s ends with %d, want %d", phase, got, code)
		}
	}
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		err  error
		code int
		text string
	}{
		"plain": {io.EOF, 1, "nodrop: EOF\n"},
		"with hint": {fmt.Errorf("reading: %w", hint.With(io.EOF, "give a file")), 1,
			"nodrop: reading: EOF\nhint: give a file\n"},
		"code only": {&exit.Coded{Code: 2}, 2, ""},
		"code, error and hint": {&exit.Coded{Code: 6, Err: hint.With(errors.New("late"), "wait")}, 6,
			"nodrop: late\nhint: wait\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := exit.Explain(&out, "nodrop", test.err); code != test.code || out.String() != test.text {
				t.Errorf("code %d, text %q; want %d, %q", code, out.String(), test.code, test.text)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	tests := map[string]struct {
		name string
		args []string
		code int
		out  string
		err  string
	}{
		"help":               {"nodrop", []string{"--help"}, 0, "Commands for people:", ""},
		"help of the plugin": {pluginName, []string{"watch", "--help"}, 0, "kubectl nodrop watch NAME", ""},
		"misspelt command":   {"nodrop", []string{"wach"}, 1, "", `nodrop: unknown command "wach"`},
		"misspelt flag":      {"nodrop", []string{"run", "--fiel", "x"}, 1, "", "hint: see nodrop run --help"},
		"name missing":       {"nodrop", []string{"watch"}, 1, "", "accepts 1 arg(s), received 0"},
		"no kubeconfig": {pluginName, []string{"report", "x", "--kubeconfig", "/nowhere"}, 1, "",
			"hint: set KUBECONFIG or give --kubeconfig"},
		"no server": {pluginName, []string{"watch", "x", "--server", "http://127.0.0.1:1"}, 1, "",
			"hint: see whether kubectl get benchmarks works"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := startAs(t, test.name, test.args...)
			p.wants(test.code, test.out, test.err)
		})
	}
}

func TestLive(t *testing.T) {
	clock := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	say := func(l *terminal.Live) {
		l.Update("a", "trial 1, 10s left")
		l.Update("a", "trial 1, 9s left")
		l.Update("b", "trial 2 with a long, long name")
		l.Keep("row done")
		l.Update("b", "trial 2, 1s left")
		l.Clear()
	}
	var plain bytes.Buffer
	say(&terminal.Live{Out: &plain, Now: clock})
	want := "03:04:05 trial 1, 10s left\n03:04:05 trial 2 with a long, long name\n03:04:05 row done\n"
	if plain.String() != want {
		t.Errorf("plain:\n%s\nwant:\n%s", plain.String(), want)
	}
	// While nothing changes a log has a line a minute.
	plain.Reset()
	now := clock()
	l := &terminal.Live{Out: &plain, Now: func() time.Time { return now }}
	for second := range 150 {
		now = clock().Add(time.Duration(second) * time.Second)
		l.Update("a", fmt.Sprintf("trial 1, %ds left", 150-second))
	}
	want = "03:04:05 trial 1, 150s left\n03:05:05 trial 1, 90s left\n03:06:05 trial 1, 30s left\n"
	if plain.String() != want {
		t.Errorf("a log:\n%s\nwant:\n%s", plain.String(), want)
	}
	var screen bytes.Buffer
	say(&terminal.Live{Out: &screen, Now: clock, Width: 24})
	want = strings.Join([]string{"trial 1, 10s left", "trial 1, 9s left", "trial 2 with a long,...", "03:04:05 row done\n", "trial 2, 1s left", ""}, "\r\x1b[K")
	if got := screen.String(); got != "\r\x1b[K"+want {
		t.Errorf("terminal: %q\nwant: %q", got, "\r\x1b[K"+want)
	}
}
