package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/manifests/manifestcheck"
	"nodrop.dev/nodrop/internal/manifests/reservation"
	"nodrop.dev/nodrop/internal/manifests/schedule"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

func newValidateCommand() *cobra.Command {
	var in manifestFlags
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "validate -f FILE [NAME]",
		Short: "Check manifests without running them, and say how long they take",
		Long: `Check manifests by the definitions of the cluster, without a cluster and without running
anything, and say how many rows and trials every test makes, and about how long it takes.
All benchmarks in what is given are checked, or the one that is named; without any, the
other objects are checked for themselves.

The exit code is 0 when everything is valid, and 1 when something is not.`,
		Example: `  nodrop validate -f benchmark.yaml
  nodrop validate -f manifests/ -R -o json
  nodrop validate -f . --set 'benchmark.spec.tests[throughput].throughput.trialDuration=5s'`,
		Args: cobra.MaximumNArgs(1),
	}
	in.addFlags(cmd)
	out.AddFlags(cmd, terminal.ObjectFormats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		forecast, err := validate(cmd, in, nameIn(args))
		if err != nil {
			forecast.Problems = problemsIn(err)
		}
		forecast.Valid = err == nil
		if err == nil || out.Format != string(report.FormatTable) || len(forecast.Benchmarks) > 0 {
			if err := out.Write(cmd.OutOrStdout(), forecast); err != nil {
				return err
			}
		}
		return err
	}
	return cmd
}

// validate checks everything that is given, and forecasts the benchmarks that are valid.
// The error has all problems.
func validate(cmd *cobra.Command, in manifestFlags, name string) (forecast, error) {
	result := forecast{Benchmarks: []benchmarkForecast{}, Problems: []problem{}}
	set, defaultPolicy, err := in.load(cmd, cmd.InOrStdin())
	if err != nil {
		return result, err
	}
	result.Objects = set.Len()
	given := set.Benchmarks()
	schedules := set.Schedules()
	if name != "" && slices.ContainsFunc(given, func(b manifest.Given) bool { return b.Schedule == name }) {
		given = slices.DeleteFunc(given, func(b manifest.Given) bool { return b.Schedule != name })
		schedules = slices.DeleteFunc(schedules, func(s *v1alpha1.BenchmarkSchedule) bool { return s.Name != name })
	} else if name != "" {
		bundle, err := set.Resolve(name)
		if err == nil {
			err = result.add(bundle, defaultPolicy)
		}
		return result, err
	}
	var all complaints
	all.add(set.Reservations(reservation.Validate))
	if len(given) == 0 && all.join() == nil {
		return result, set.Alone(plan.ValidateProfile, plan.ValidateBed)
	}
	for _, b := range given {
		bundle, err := set.ResolveGiven(b)
		if err == nil {
			err = result.add(bundle, defaultPolicy)
		}
		all.add(err)
	}
	if err := all.join(); err != nil {
		return result, err
	}
	return result, result.addSchedules(schedules, time.Now())
}

// complaints collects what is wrong with several benchmarks, each problem once.
type complaints struct {
	problems []manifest.Problem
	others   []error
}

func (e *complaints) add(err error) {
	var invalid *manifest.InvalidError
	switch {
	case err == nil:
	case errors.As(err, &invalid):
		advice := hint.Of(err)
		for _, p := range invalid.Problems {
			if p.Suggestion == "" {
				p.Suggestion = advice
			}
			e.problems = appendNew(e.problems, p)
		}
	default:
		e.others = append(e.others, err)
	}
}

func (e *complaints) join() error {
	var all []error
	if len(e.problems) > 0 {
		all = append(all, &manifest.InvalidError{Problems: e.problems})
	}
	return errors.Join(append(all, e.others...)...)
}

func appendNew(problems []manifest.Problem, p manifest.Problem) []manifest.Problem {
	for _, known := range problems {
		if known == p {
			return problems
		}
	}
	return append(problems, p)
}

// forecast contains the information about benchmarks that is known before they run.
type forecast struct {
	Valid bool `json:"valid"`
	// Objects is the number of given objects of NoDrop.
	Objects    int                 `json:"objects"`
	Benchmarks []benchmarkForecast `json:"benchmarks"`
	Schedules  []scheduleForecast  `json:"schedules,omitempty"`
	Problems   []problem           `json:"problems"`
}

// scheduleForecast contains the next firing times of a schedule.
type scheduleForecast struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	TimeZone   string `json:"timeZone"`
	Benchmarks int    `json:"benchmarks"`
	// Next are the next times, with jitter.
	Next []time.Time `json:"next"`
}

// addSchedules forecasts the next firings of schedules.
func (f *forecast) addSchedules(schedules []*v1alpha1.BenchmarkSchedule, now time.Time) error {
	const shown = 3
	for _, s := range schedules {
		timing, err := schedule.TimingOf(s)
		if err != nil {
			return err
		}
		zone, err := schedule.Zone(s.Spec.TimeZone)
		if err != nil {
			return err
		}
		next := scheduleForecast{Name: s.Name, Namespace: s.Namespace, TimeZone: s.Spec.TimeZone, Benchmarks: len(schedule.Cells(&s.Spec))}
		for last := now; len(next.Next) < shown; {
			firing, at := timing.Next(last, now)
			if firing.IsZero() {
				break
			}
			next.Next = append(next.Next, at.In(zone))
			last = firing
		}
		f.Schedules = append(f.Schedules, next)
	}
	return nil
}

type benchmarkForecast struct {
	Name         string         `json:"name"`
	Namespace    string         `json:"namespace"`
	Files        []string       `json:"files"`
	TestBed      string         `json:"testBed"`
	Engine       string         `json:"engine"`
	Ports        int            `json:"ports"`
	Profile      string         `json:"trafficProfile"`
	Tests        []testForecast `json:"tests"`
	Rows         int            `json:"rows"`
	Trials       int            `json:"trials"`
	Seconds      int64          `json:"seconds"`
	DeadlineSecs int64          `json:"activeDeadlineSeconds"`
}

// testForecast are the rows of a test, at most; and its trials and its time, about.
type testForecast struct {
	Name    string `json:"name"`
	Variant string `json:"variant,omitempty"`
	Method  string `json:"method"`
	Rows    int    `json:"rows"`
	Trials  int    `json:"trials"`
	Seconds int64  `json:"seconds"`

	duration time.Duration
}

// problem is one thing that is wrong.
type problem struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Object     string `json:"object,omitempty"`
	Field      string `json:"field,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// add forecasts a benchmark when it is valid.
func (f *forecast) add(bundle *manifest.Bundle, defaultPolicy *v1alpha1.TrafficPolicy) error {
	if err := manifestcheck.Fits(bundle, defaultPolicy); err != nil {
		return err
	}
	made, err := plan.Build(&bundle.Benchmark, &bundle.Profile, &bundle.Bed)
	if err != nil {
		return err
	}
	b := benchmarkForecast{
		Name: bundle.Benchmark.Name, Namespace: bundle.Benchmark.Namespace, Files: bundle.Files,
		TestBed: bundle.Bed.Name, Engine: string(made.Engine), Ports: len(made.Ports), Profile: bundle.Profile.Name,
		Rows: len(made.Steps), Trials: made.Trials(), Seconds: seconds(made.Duration()),
		DeadlineSecs: bundle.Benchmark.Spec.ActiveDeadlineSeconds,
	}
	for _, step := range made.Steps {
		last := len(b.Tests) - 1
		if last < 0 || b.Tests[last].Name != step.Test.Name || b.Tests[last].Variant != string(step.Variant) {
			b.Tests = append(b.Tests, testForecast{Name: step.Test.Name, Variant: string(step.Variant), Method: string(step.Method)})
			last++
		}
		t := &b.Tests[last]
		t.Rows++
		t.Trials += step.Trials
		t.duration += step.Duration
		t.Seconds = seconds(t.duration)
	}
	f.Benchmarks = append(f.Benchmarks, b)
	return nil
}

// seconds rounds up, so that nothing takes no time.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// problemsIn are the problems of an error.
func problemsIn(err error) []problem {
	var invalid *manifest.InvalidError
	if !errors.As(err, &invalid) {
		return []problem{{Message: err.Error(), Suggestion: hint.Of(err)}}
	}
	var all []problem
	for _, p := range invalid.Problems {
		if p.Suggestion == "" {
			p.Suggestion = hint.Of(err)
		}
		all = append(all, problem{File: p.File, Line: p.Line, Object: p.Object, Field: p.Field, Message: p.Text, Suggestion: p.Suggestion})
	}
	return all
}

// Write implements writer.
func (f forecast) Write(w io.Writer, format report.Format) error {
	if format != report.FormatTable {
		return terminal.WriteObject(w, f, format)
	}
	p := layout.PaperOf(w)
	for i, b := range f.Benchmarks {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := io.WriteString(w, b.text(p)); err != nil {
			return err
		}
	}
	for _, s := range f.Schedules {
		var times []string
		for _, t := range s.Next {
			times = append(times, t.Format("Mon 2006-01-02 15:04:05 MST"))
		}
		made := "one benchmark"
		if s.Benchmarks != 1 {
			made = fmt.Sprintf("%d benchmarks", s.Benchmarks)
		}
		fmt.Fprintf(w, "\n%s  %s\n", p.Title(fmt.Sprintf("BenchmarkSchedule %s/%s makes %s at each firing, next at", s.Namespace, s.Name, made)), strings.Join(times, "\n  "))
	}
	if len(f.Benchmarks) == 0 {
		_, err := fmt.Fprintf(w, "valid; there is no Benchmark among the objects given (%d)\n", f.Objects)
		return err
	}
	return nil
}

// text is the forecast for people.
func (b benchmarkForecast) text(p layout.Paper) string {
	var out strings.Builder
	out.WriteString(p.Title(fmt.Sprintf("Benchmark %s/%s is valid", b.Namespace, b.Name)))
	out.WriteString(p.Wrap(fmt.Sprintf("bed %s (engine %s, %d ports), profile %s", b.TestBed, b.Engine, b.Ports, b.Profile), layout.Gap) + "\n")
	table := &layout.Grid{Columns: []layout.Column{{Name: "test", Left: true}, {Name: "rows", Left: true}, {Name: "trials", Left: true}, {Name: "time", Left: true}}}
	add := func(name string, rows, trials int, seconds int64) {
		table.Rows = append(table.Rows, []string{name, fmt.Sprint(rows), fmt.Sprintf("about %d", trials), fmt.Sprintf("about %s", time.Duration(seconds)*time.Second)})
	}
	for _, t := range b.Tests {
		add(human.Join(" ", t.Name, t.Variant), t.Rows, t.Trials, t.Seconds)
	}
	add("all", b.Rows, b.Trials, b.Seconds)
	out.WriteString(table.On(p))
	if b.DeadlineSecs > 0 && b.Seconds > b.DeadlineSecs {
		out.WriteString("\n" + p.Wrap(fmt.Sprintf("spec.activeDeadlineSeconds is %d, which ends it with Invalid before: raise it to more than %d", b.DeadlineSecs, b.Seconds), layout.Gap))
	}
	return out.String()
}
