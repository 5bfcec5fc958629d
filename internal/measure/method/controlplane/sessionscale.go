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
	"nodrop.dev/nodrop/internal/measure/record"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

// DescribeSessionScale returns the definition of sessionScale.
func DescribeSessionScale() trials.Definition {
	held := trials.Summary[v1alpha1.SessionScaleSummary](func(row *v1alpha1.ResultRow) *v1alpha1.SessionScaleSummary { return row.SessionScale })
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodSessionScale, Member: "sessionScale", Mixes: true, Frameless: true, BGP: true,
			WholeDevice: "opens as many sessions as the device holds",
			Given:       func(t v1alpha1.Test) bool { return t.SessionScale != nil },
			Fits:        fitsSessionScale,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				// How many numbers are tried is not known.
				t := test.SessionScale
				return []plan.Step{{Trials: 1, Duration: t.WaitTime.Duration + soakTime(t)}}
			},
		},
		Run:         sessionScale,
		OwnSessions: true,
		Purpose:     "greatest number of BGP sessions that are established together, how long it takes, and what they survive",
		Headline: held.Headline(func(s *v1alpha1.SessionScaleSummary) trials.Figure {
			return trials.CountFigure(int64(s.Sessions), "sessions", !s.Full)
		}),
		Columns: []trials.Column{
			{Heading: "sessions", Name: "held", Value: held.Number(func(s *v1alpha1.SessionScaleSummary) int64 { return int64(s.Sessions) })},
			{Heading: "sessions", Name: "tried", Value: held.Number(func(s *v1alpha1.SessionScaleSummary) int64 { return int64(s.Tried) })},
			{Heading: "sessions", Name: "went down", Value: held.Number(func(s *v1alpha1.SessionScaleSummary) int64 { return s.Down })},
			{Heading: "established, ms", Name: "all", Unit: trials.LongNanoseconds, Value: held.Number(func(s *v1alpha1.SessionScaleSummary) int64 { return s.EstablishNs })},
			{Heading: "sessions/s", Name: "avg", Value: held.Optional(func(s *v1alpha1.SessionScaleSummary) *int64 { return s.SessionsPerSecond })},
			{Heading: "flaps", Name: "made", Value: held.Number(func(s *v1alpha1.SessionScaleSummary) int64 { return s.Flaps })},
			{Heading: "flaps", Name: "per hour", Value: held.Number(func(s *v1alpha1.SessionScaleSummary) int64 { return s.FlapsPerHour })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.SessionScale
			return fmt.Sprintf("sessions established within %s, doubled from %d on; watched for %s with routes of one session withdrawn and announced again every %s",
				human.Duration(t.WaitTime.Duration), t.First, human.Duration(soakTime(t)), human.Duration(t.FlapInterval.Duration))
		},
	}
}

func soakTime(t *v1alpha1.SessionScaleTest) time.Duration {
	if t.SoakTime == nil {
		return time.Minute
	}
	return t.SoakTime.Duration
}

func fitsSessionScale(_ v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	if len(in.Sessions) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path, fmt.Sprintf("test bed %s has no BGP sessions, which the test is about: add routing to the bed, with a count of sessions", in.Bed.Name))}
}

// sessionScale opens more and more sessions until some are not established in time, finds the
// number in between, and then watches that many. No frames are sent.
func sessionScale(ctx context.Context, tester *trials.Tester, step plan.Step) (trials.Outcome, error) {
	if tester.Routes.Speaker == nil {
		return trials.Outcome{}, &traffic.MissingError{Engine: string(tester.Plan.Engine), Cannot: "hold BGP sessions", Needs: step.Name()}
	}
	test, all := step.Test.SessionScale, len(tester.Plan.Sessions)
	sum := v1alpha1.SessionScaleSummary{}
	out := trials.Outcome{Fill: func(row *v1alpha1.ResultRow) { row.SessionScale, row.Frames = &sum, nil }}
	// Low sessions are held, high ones are not.
	low, high, last := 0, all+1, 0
	var took time.Duration
	for n := min(int(test.First), all); n > 0; n = next(low, high, all, int(test.Resolution)) {
		sum.Tried, last = max(sum.Tried, int32(n)), n
		spent, why, err := establish(ctx, tester, n, test.WaitTime.Duration)
		if err != nil {
			return trials.Outcome{}, err
		}
		noteSessions(tester, n, spent, why)
		if why != "" {
			high, sum.Full, out.Message = n, true, fmt.Sprintf("of %d sessions not all were established within %s: %s", n, human.Duration(test.WaitTime.Duration), why)
			continue
		}
		low, took = n, spent
	}
	sum.Sessions, sum.EstablishNs = int32(low), int64(took)
	if took > 0 {
		sum.SessionsPerSecond = new(trials.PerSecond(int64(low), took))
	}
	if !sum.Full {
		out.Message = fmt.Sprintf("all %d sessions of the bed were established: the device holds at least that many", all)
	}
	if low == 0 {
		return out, nil
	}
	if last != low {
		spent, why, err := establish(ctx, tester, low, test.WaitTime.Duration)
		if err == nil {
			noteSessions(tester, low, spent, why).Role = "again"
		}
		if err != nil || why != "" {
			out.Invalid = fmt.Sprintf("%d sessions were established once and not again: %s", low, why)
			return out, err
		}
	}
	why, err := survive(ctx, tester, low, test, &sum)
	soak := v1alpha1.TrialRecord{Role: "soak", Tried: int64(low), Verdict: v1alpha1.TrialPassed}
	record.AddFigure(&soak, "soakNs", sum.SoakNs)
	record.AddFigure(&soak, "flaps", sum.Flaps)
	record.AddFigure(&soak, "down", sum.Down)
	tester.Log.Add(soak)
	if why != "" {
		out.Message += "; then " + why
	}
	return out, err
}

// noteSessions adds to the log of the row that so many sessions were opened.
func noteSessions(tester *trials.Tester, n int, spent time.Duration, why string) *v1alpha1.TrialRecord {
	r := v1alpha1.TrialRecord{Role: "sessions", Tried: int64(n), Verdict: v1alpha1.TrialPassed}
	if why != "" {
		r.Verdict = v1alpha1.TrialFailed
	}
	record.AddFigure(&r, "establishNs", int64(spent))
	return tester.Log.Add(r)
}

// next is the number of sessions that is tried next, where low are held and high are not;
// 0 when the number is found.
func next(low, high, all, resolution int) int {
	switch {
	case high > all && low == all:
		return 0
	case high > all:
		return min(2*low, all)
	case high-low <= resolution:
		return 0
	}
	return low + (high-low)/2
}

// establish opens the first sessions, and returns how long it took until all were
// established, or why they were not in time.
func establish(ctx context.Context, tester *trials.Tester, n int, patience time.Duration) (took time.Duration, why string, _ error) {
	begin := tester.Generator.Clock().Now()
	err := tester.Routes.OpenFirst(ctx, n, patience)
	took = tester.Generator.Clock().Now().Sub(begin)
	var down *routing.DownError
	switch {
	case ctx.Err() != nil:
		return 0, "", context.Cause(ctx)
	case errors.As(err, &down):
		return took, down.Error() + tester.Device.RouterEnded(ctx), nil
	case err != nil:
		return 0, "", fmt.Errorf("opening %d BGP sessions: %w", n, err)
	case took > patience:
		return took, fmt.Sprintf("they took %s", trials.Readable(took)), nil
	}
	return took, "", nil
}

// survive watches the first sessions while routes of one after the other flap, and says why
// one went down last.
func survive(ctx context.Context, tester *trials.Tester, n int, test *v1alpha1.SessionScaleTest, sum *v1alpha1.SessionScaleSummary) (why string, _ error) {
	var flapping []int
	for i, a := range tester.Plan.Announcements {
		if a.Session < n {
			flapping = append(flapping, i)
		}
	}
	if err := tolerant(tester.Routes.AnnounceNow(ctx, flapping)); err != nil {
		return "", err
	}
	clock, whole := tester.Generator.Clock(), soakTime(test)
	begin := clock.Now()
	for due := test.FlapInterval.Duration; ; due += test.FlapInterval.Duration {
		if err := clock.Sleep(ctx, begin.Add(min(due, whole)).Sub(clock.Now())); err != nil {
			return "", err
		}
		if due > whole || len(flapping) == 0 && due >= whole {
			break
		}
		if len(flapping) == 0 {
			continue
		}
		which := flapping[int(sum.Flaps)%len(flapping):][:1]
		_, err := tester.Routes.Withdraw(ctx, which)
		if err = errors.Join(err, tester.Routes.AnnounceNow(ctx, which)); tolerant(err) != nil {
			return "", err
		}
		sum.Flaps++
	}
	spent := clock.Now().Sub(begin)
	states, err := tester.Routes.States(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range tester.Plan.Sessions[:n] {
		down := int64(states[s.Name].Flaps)
		if sum.Down += down; down > 0 && why == "" {
			why = (&routing.DownError{Session: s.Name, Port: s.Port, Cause: states[s.Name].Cause}).Error()
		}
	}
	sum.SoakNs, sum.FlapsPerHour, sum.DownPerHour = int64(spent), trials.PerHour(sum.Flaps, spent), trials.PerHour(sum.Down, spent)
	if why != "" {
		why += tester.Device.RouterEnded(ctx)
	}
	return why, nil
}

// tolerant is an error, unless it is of a session that is down: those are counted.
func tolerant(err error) error {
	if down := (*routing.DownError)(nil); errors.As(err, &down) {
		return nil
	}
	return err
}
