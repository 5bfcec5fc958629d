package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeRouteRefresh returns the definition of routeRefresh.
func DescribeRouteRefresh() trials.Definition {
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodRouteRefresh, Member: "routeRefresh", BGP: true,
			WholeDevice: "times the control plane of the device",
			Given:       func(t v1alpha1.Test) bool { return t.RouteRefresh != nil },
			Load:        func(t v1alpha1.Test) v1alpha1.Load { return t.RouteRefresh.Load },
			Fits:        fitsRouteRefresh,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				return []plan.Step{plan.AtLoad(test.RouteRefresh.Load, refreshTime(test.RouteRefresh))}
			},
		},
		Run:     routeRefresh,
		Purpose: "time until the device has sent its routes again (RFC 2918), and frames lost meanwhile",
		Headline: refreshed.Headline(func(s *v1alpha1.RouteRefreshSummary) trials.Figure {
			if s.Refresh == nil {
				return trials.CountFigure(s.Routes, "routes did not come again", false)
			}
			return trials.TimeFigure(s.Refresh.AvgNs)
		}),
		Columns: append([]trials.Column{
			trials.LossColumn,
			{Heading: "routes", Name: "refreshed", Value: refreshed.Number(func(s *v1alpha1.RouteRefreshSummary) int64 { return s.Routes })},
			{Heading: "routes/s", Name: "avg", Value: refreshed.Optional(func(s *v1alpha1.RouteRefreshSummary) *int64 { return s.RoutesPerSecond })},
		}, append(spreadColumns("refresh, ms", func(row *v1alpha1.ResultRow) *v1alpha1.TimeSpread {
			if row.RouteRefresh == nil {
				return nil
			}
			return row.RouteRefresh.Refresh
		}), trials.Column{Heading: "unseen", Name: "refresh", Value: refreshed.Number(func(s *v1alpha1.RouteRefreshSummary) int64 { return int64(s.Unseen) })})...),
		Moments: func(test v1alpha1.Test) []trials.Moment { return refreshMoments(test.RouteRefresh) },
		Trials: func(test v1alpha1.Test) string {
			t := test.RouteRefresh
			return fmt.Sprintf("one trial of %s at %s: all routes asked for again %s after the beginning, %s, every %s",
				human.Duration(refreshTime(t)), t.Load, human.Duration(t.LeadTime.Duration), trials.HowOften(t.Refreshes), human.Duration(t.Interval.Duration))
		},
	}
}

var refreshed = trials.Summary[v1alpha1.RouteRefreshSummary](func(row *v1alpha1.ResultRow) *v1alpha1.RouteRefreshSummary { return row.RouteRefresh })

func refreshTime(t *v1alpha1.RouteRefreshTest) time.Duration {
	return t.LeadTime.Duration + time.Duration(t.Refreshes)*t.Interval.Duration
}

// refreshMoments are the requests of a trial.
func refreshMoments(t *v1alpha1.RouteRefreshTest) []trials.Moment {
	var all []trials.Moment
	for i := range time.Duration(t.Refreshes) {
		all = append(all, trials.Moment{Kind: trials.EventRefresh, At: t.LeadTime.Duration + i*t.Interval.Duration})
	}
	return all
}

// spreadColumns are the shortest, average and longest of times.
func spreadColumns(heading string, of func(*v1alpha1.ResultRow) *v1alpha1.TimeSpread) []trials.Column {
	times := trials.Summary[v1alpha1.TimeSpread](of)
	return []trials.Column{
		{Heading: heading, Name: "min", Unit: trials.LongNanoseconds, Value: times.Number(func(t *v1alpha1.TimeSpread) int64 { return t.MinNs })},
		{Heading: heading, Name: "avg", Unit: trials.LongNanoseconds, Value: times.Number(func(t *v1alpha1.TimeSpread) int64 { return t.AvgNs })},
		{Heading: heading, Name: "max", Unit: trials.LongNanoseconds, Value: times.Number(func(t *v1alpha1.TimeSpread) int64 { return t.MaxNs })},
	}
}

// timesOf returns the times of a spread; nil if it has none.
func timesOf(s *trials.Spread) *v1alpha1.TimeSpread {
	if s.Count == 0 {
		return nil
	}
	return &v1alpha1.TimeSpread{AvgNs: s.Average(), MinNs: s.Min, MaxNs: s.Max}
}

// announcedAll reports whether all announcements of the plan are made.
func announcedAll(int) bool { return true }

// refreshing is the session that asks for its routes, by its index: the one that is named, or
// the first to which the device advertises routes; -1 when there is none.
func refreshing(name string, p plan.Plan) int {
	for i, s := range p.Sessions {
		if (name == "" || s.Name == name) && p.Advertised(i, announcedAll).Routes > 0 {
			return i
		}
	}
	return -1
}

func fitsRouteRefresh(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	if err := needsRoutes(in, path); err != nil {
		return field.ErrorList{err}
	}
	name := test.RouteRefresh.Session
	if refreshing(name, plan.Plan{Sessions: in.Sessions, Announcements: in.Announcements}) >= 0 {
		return nil
	}
	if name == "" {
		return field.ErrorList{field.Required(path.Child("session"), fmt.Sprintf(
			"the device advertises routes to no session of test bed %s, as each announces all routes of traffic profile %s itself: name sessions in the sets of the profile", in.Bed.Name, in.Profile))}
	}
	return field.ErrorList{field.Invalid(path.Child("session"), name, fmt.Sprintf(
		"the session must be one of test bed %s to which the device advertises routes of traffic profile %s: name another session", in.Bed.Name, in.Profile))}
}

// needsRoutes refuses profiles without routes.
func needsRoutes(in plan.Setting, path *field.Path) *field.Error {
	if len(in.Announcements) > 0 {
		return nil
	}
	return field.Required(path, fmt.Sprintf("traffic profile %s announces no routes, which the test is about: add routing to the profile, or name one that has it", in.Profile))
}

// routeRefresh asks for all routes of a session again, several times in one trial.
func routeRefresh(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	test := step.Test.RouteRefresh
	index := refreshing(test.Session, tester.Plan)
	session, want := tester.Plan.Sessions[index], tester.Plan.Advertised(index, announcedAll)
	took := make([]time.Duration, test.Refreshes)
	var acts []trials.Action
	for i, m := range refreshMoments(test) {
		acts = append(acts, trials.Timed(m.Kind, m.At, func(ctx context.Context) (_ traffic.Moments, err error) {
			took[i], err = refresh(ctx, tester, session.Name, want, test.Interval.Duration)
			return nil, err
		}))
	}
	out, err := tester.AtLoad(ctx, step, acts...)
	if err != nil || out.Trial == nil {
		return out, err
	}
	sum := v1alpha1.RouteRefreshSummary{Session: session.Name, Refreshes: test.Refreshes, Routes: int64(want.Routes)}
	var times trials.Spread
	for _, one := range took {
		if one < 0 {
			sum.Unseen++
			out.Trial.Figure("unseen", 1)
			continue
		}
		times.Add(int64(one))
		out.Trial.Figure("refreshNs", int64(one))
	}
	sum.Refresh = timesOf(&times)
	if sum.Refresh != nil && sum.Refresh.AvgNs > 0 {
		sum.RoutesPerSecond = new(trials.PerSecond(sum.Routes, time.Duration(sum.Refresh.AvgNs)))
	}
	switch {
	case out.Message != "":
	case sum.Unseen > 0:
		out.Message = fmt.Sprintf("after %d of %d requests not all routes came again within %s: raise interval", sum.Unseen, sum.Refreshes, human.Duration(test.Interval.Duration))
	case out.Trial.Lost > 0:
		out.Message = fmt.Sprintf("%s frames were lost, and a refresh of routes should cost none", traffic.Grouped(int64(out.Trial.Lost)))
	}
	out.Fill = func(row *v1alpha1.ResultRow) { row.RouteRefresh = &sum }
	return out, nil
}

// refresh asks for the routes of a session again, and returns how long it took until all of
// a table had come; -1 when they did not within patience.
func refresh(ctx context.Context, tester *trials.Tester, session string, want routing.Table, patience time.Duration) (time.Duration, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := tester.Routes.Speaker.Refresh(waiting, session)
	var unlearnt *routing.UnlearnedError
	var down *routing.DownError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case errors.As(err, &unlearnt), errors.As(err, &down): // a session that went down voids the trial
		return -1, nil
	case err != nil:
		return 0, fmt.Errorf("asking for all routes again: %w", err)
	}
	took := time.Duration(max(r.Last, r.Asked) - r.Asked)
	if r.Table != want || took > patience {
		return -1, nil
	}
	return took, nil
}
