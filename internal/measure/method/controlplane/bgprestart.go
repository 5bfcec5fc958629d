package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeBGPRestart returns the definition of bgpRestart.
func DescribeBGPRestart() trials.Definition {
	restarts := trials.Summary[v1alpha1.BGPRestartSummary](func(row *v1alpha1.ResultRow) *v1alpha1.BGPRestartSummary { return row.BGPRestart })
	of := func(times func(*v1alpha1.BGPRestartSummary) *v1alpha1.TimeSpread) func(*v1alpha1.ResultRow) *v1alpha1.TimeSpread {
		return func(row *v1alpha1.ResultRow) *v1alpha1.TimeSpread {
			if row.BGPRestart == nil {
				return nil
			}
			return times(row.BGPRestart)
		}
	}
	columns := []trials.Column{{Heading: "lost", Name: "avg frames", Value: restarts.Number(func(s *v1alpha1.BGPRestartSummary) int64 { return s.AvgLost })}}
	columns = append(columns, spreadColumns("outage, ms", of(func(s *v1alpha1.BGPRestartSummary) *v1alpha1.TimeSpread { return &s.Outage }))...)
	columns = append(columns, spreadColumns("sessions back, ms", of(func(s *v1alpha1.BGPRestartSummary) *v1alpha1.TimeSpread { return s.SessionsBack }))...)
	columns = append(columns, spreadColumns("routes back, ms", of(func(s *v1alpha1.BGPRestartSummary) *v1alpha1.TimeSpread { return s.RoutesBack }))...)
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodBGPRestart, Member: "bgpRestart", BGP: true,
			WholeDevice: "restarts the BGP of the device",
			Given:       func(t v1alpha1.Test) bool { return t.BGPRestart != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.BGPRestart.Load },
			Fits:        fitsBGPRestart,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				step := plan.AtLoad(test.BGPRestart.Load, restartTime(test.BGPRestart))
				return []plan.Step{step.Repeated(int(test.BGPRestart.Restarts))}
			},
		},
		Run:      bgpRestart,
		Purpose:  "for how long frames are lost when the BGP of the device restarts, and until sessions and routes are back",
		Headline: restarts.Headline(func(s *v1alpha1.BGPRestartSummary) trials.Figure { return trials.TimeFigure(s.Outage.AvgNs) }),
		Columns:  append(columns, trials.Column{Heading: "unseen", Name: "restart", Value: restarts.Number(func(s *v1alpha1.BGPRestartSummary) int64 { return int64(s.Unseen) })}),
		Moments: func(test v1alpha1.Test) []trials.Moment {
			return []trials.Moment{{Kind: trials.EventRestart, At: test.BGPRestart.LeadTime.Duration}}
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.BGPRestart
			return fmt.Sprintf("BGP of the device restarted by the lab %s after the beginning, trials of %s, %s", human.Duration(t.LeadTime.Duration), human.Duration(restartTime(t)), trials.HowOften(t.Restarts))
		},
	}
}

func restartTime(t *v1alpha1.BGPRestartTest) time.Duration {
	return t.LeadTime.Duration + t.RecoveryTime.Duration
}

func fitsBGPRestart(_ v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	if err := needsRoutes(in, path); err != nil {
		return field.ErrorList{err}
	}
	if c := device.Of(in.Bed.Spec.Device); c.Cabled || c.Absent {
		return field.ErrorList{field.Invalid(path, c.Kind, fmt.Sprintf(
			"NoDrop cannot restart the BGP of the device of test bed %s: only of a router that nodrop run starts, and of a simulated device", in.Bed.Name))}
	}
	return nil
}

// back contains the times from the beginning of a restart until all sessions and all routes
// were seen again; a time is negative if they were not.
type back struct{ sessions, routes time.Duration }

// bgpRestart restarts the routing software of the device while frames are sent, once in each
// trial. The trial with the longest outage makes the row.
func bgpRestart(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	if tester.Device.Router == nil {
		return trials.Outcome{}, errors.New("the lab cannot restart the BGP of this device: only that of a router which nodrop run starts, and of a simulated device")
	}
	ppm, loads, message, err := tester.Loads(step)
	if err != nil || message != "" {
		return trials.Outcome{Message: message}, err
	}
	test := step.Test.BGPRestart
	out := trials.Outcome{LoadPPM: ppm, ByTime: true}
	sum := v1alpha1.BGPRestartSummary{Restarts: test.Restarts, Sessions: int32(len(tester.Plan.Sessions))}
	for _, a := range tester.Plan.Announcements {
		sum.Routes += int64(a.Count)
	}
	var outage, sessions, routes, lost trials.Spread
	for range step.Trials {
		seen := back{-1, -1}
		restart := trials.Timed(trials.EventRestart, test.LeadTime.Duration, func(ctx context.Context) (_ traffic.Moments, err error) {
			seen, err = restartBGP(ctx, tester, test.RecoveryTime.Duration)
			return nil, err
		})
		restart.EndsSessions = true
		// Never twice: what is lost in a trial with a restart is what is measured.
		event := trials.Event{Step: step, LoadPPM: ppm, Duration: step.TrialDuration}
		t, err := tester.Once(ctx, event, traffic.Trial{Loads: loads, Duration: step.TrialDuration}, trials.LateTolerance(step.TrialDuration), restart)
		if err != nil {
			return trials.Outcome{}, err
		}
		o := trials.OutageOf(t, loads)
		if out.Trial == nil || int64(o.ByLoss) > outage.Max {
			out.Trial = t
		}
		outage.Add(int64(o.ByLoss))
		t.Figure("outageNs", int64(o.ByLoss))
		lost.Add(int64(t.Lost))
		if seen.sessions >= 0 {
			sessions.Add(int64(seen.sessions))
			t.Figure("sessionsBackNs", int64(seen.sessions))
		}
		if seen.routes >= 0 {
			routes.Add(int64(seen.routes))
			t.Figure("routesBackNs", int64(seen.routes))
		} else {
			sum.Unseen++
		}
		switch {
		case t.Received == 0:
			out.Message = tester.Silence(t)
		case o.ToTheEnd:
			out.Invalid = fmt.Sprintf("frames were lost to the end of the trial of %s: the device did not forward again in time: raise recoveryTime", human.Duration(step.TrialDuration))
		}
		if t.TesterLimited() {
			out.Limit = t
		}
		if t.DoubtfulLost() > t.Lost/100 {
			out.Doubt = cmp.Or(out.Doubt, t.DoubtfulText())
		}
	}
	if out.Invalid != "" || out.Message != "" {
		return out, nil
	}
	sum.Outage, sum.SessionsBack, sum.RoutesBack, sum.AvgLost = *timesOf(&outage), timesOf(&sessions), timesOf(&routes), lost.Average()
	switch {
	case sum.Unseen > 0:
		out.Message = fmt.Sprintf("after %d of %d restarts not all sessions and routes came back within %s: raise recoveryTime", sum.Unseen, sum.Restarts, human.Duration(test.RecoveryTime.Duration))
	case sum.AvgLost == 0:
		out.Message = "no loss: the device forwarded every frame while its BGP restarted"
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.BGPRestart = &sum }
	return out, nil
}

// restartBGP restarts the routing software of the device, and waits until all sessions are
// established and all routes are advertised again, for a time at most.
func restartBGP(ctx context.Context, tester *trials.Tester, patience time.Duration) (back, error) {
	seen, clock, want := back{-1, -1}, tester.Generator.Clock(), wanted(tester)
	begin := clock.Now()
	if err := tester.Device.Router.Restart(ctx); err != nil {
		return seen, err
	}
	for {
		all, err := areEstablished(ctx, tester)
		if err != nil {
			return seen, err
		}
		if all && seen.sessions < 0 {
			seen.sessions = clock.Now().Sub(begin)
		}
		if all, err = relearnt(ctx, tester, want); err != nil {
			return seen, err
		}
		if all && seen.sessions >= 0 {
			seen.routes = clock.Now().Sub(begin)
			return seen, nil
		}
		if clock.Now().Sub(begin) >= patience {
			return seen, nil
		}
		if err := clock.Sleep(ctx, trials.LookForRoutes); err != nil {
			return seen, err
		}
	}
}

// areEstablished reports whether all sessions are.
func areEstablished(ctx context.Context, tester *trials.Tester) (bool, error) {
	states, err := tester.Routes.States(ctx)
	for _, s := range states {
		if !s.Established {
			return false, err
		}
	}
	return err == nil, err
}

// wanted returns the routes that the device should advertise on each session for the current
// announcements.
func wanted(tester *trials.Tester) []routing.Table {
	want := make([]routing.Table, len(tester.Plan.Sessions))
	for i := range want {
		want[i] = tester.Plan.Advertised(i, func(a int) bool { return tester.Routes.Announced[a] })
	}
	return want
}

// relearnt reports whether the device advertises on every session what it should.
func relearnt(ctx context.Context, tester *trials.Tester, want []routing.Table) (bool, error) {
	for i, s := range tester.Plan.Sessions {
		learnt, err := tester.Routes.Speaker.Learnt(ctx, s.Name)
		var down *routing.DownError
		if errors.As(err, &down) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("asking for the routes learnt: %w", err)
		}
		if learnt.Table != want[i] {
			return false, nil
		}
	}
	return true, nil
}
