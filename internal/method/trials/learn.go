package trials

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Learning: how long the tester waits for the first frames to come back, how often
// it sends them again, and how long it gives them each time before it looks.
const (
	learnTime   = 5 * time.Second
	learnPeriod = time.Second
	LearnLook   = 50 * time.Millisecond
	learnRate   = 1000 // frames/s
)

// Configure gives the generator the streams of a step, and lets the device learn
// them.
func (l *Tester) Configure(ctx context.Context, step plan.Step) error {
	if l.configured == &l.Setup && l.Size == step.Size {
		return nil
	}
	l.configured, l.Size = &l.Setup, step.Size
	err := l.Persist(ctx, Event{Step: step}, func() error { return l.prepare(ctx) })
	if err == nil {
		err = l.Persist(ctx, Event{Step: step}, func() error { return l.Learn(ctx) })
	}
	if err != nil {
		l.configured = nil
	}
	return err
}

// prepare gives the generator the streams, and joins the groups that they are sent
// to.
func (l *Tester) prepare(ctx context.Context) error {
	if err := l.ConfigureStreams(ctx); err != nil {
		return err
	}
	return l.becomeMembers(ctx)
}

// Learn lets the device find out where addresses are, before any trial: receivers
// that send nothing answer first, then a few frames of every stream are sent. A
// method that joins the groups itself is not learnt for: no port is a member yet.
func (l *Tester) Learn(ctx context.Context) error {
	l.Unheard = ""
	if l.ownGroups {
		return nil
	}
	if err := l.answer(ctx); err != nil {
		return err
	}
	return l.Introduce(ctx, l.Plan.At(l.Size).Streams())
}

// Introduce sends a few frames of streams, one per host, and waits for them to come
// back: the first frames after a silence are lost while bridges and routers find out
// where addresses are, and are not part of any trial (RFC 2544 section 23). So are those
// that a multicast router gets before it has a route for a group and a sender (RFC 3918
// section 4). A device from which nothing comes back is left to the trials.
func (l *Tester) Introduce(ctx context.Context, streams []plan.Stream) error {
	clock := l.Generator.Clock()
	l.Introduced = true
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	loads, err := l.Plan.At(l.Size).Loads(plan.Share(500_000))
	if err != nil {
		return err
	}
	slow := map[traffic.Rate]traffic.Rate{}
	for _, s := range streams {
		rate := loads[s.ID].Rate
		if _, known := slow[rate]; !known {
			slow[rate] = rate
			if rate.FramesPerSecond().Cmp(big.NewRat(learnRate, 1)) > 0 {
				slow[rate] = traffic.Rate{Frames: learnRate, PerNanos: int64(time.Second)}
			}
		}
		trial.Loads[s.ID] = traffic.Load{Rate: slow[rate], Frames: HostsOf(s)}
	}
	least := len(streams)
	for end := clock.Now().Add(learnTime); clock.Now().Before(end); {
		sent := clock.Now()
		m, _, err := l.Run(ctx, trial, LearnLook)
		if err != nil {
			return err
		}
		missing := l.missing(m, streams)
		if len(missing) == 0 {
			l.Unheard = ""
			return nil
		}
		l.Unheard = unheard(missing, streams)
		if l.Plan.RoutesMulticast && len(missing) < least {
			least, end = len(missing), clock.Now().Add(learnTime) // It installs one route after the other.
		}
		if err := clock.Sleep(ctx, learnPeriod-clock.Now().Sub(sent)); err != nil {
			return err
		}
	}
	return nil
}

// missing are the streams of which a receiver did not get every frame.
func (l *Tester) missing(m traffic.Measurement, streams []plan.Stream) []plan.Stream {
	var missing []plan.Stream
	for _, s := range streams {
		if slices.ContainsFunc(s.Rx, func(port int) bool {
			return m.Rx[traffic.RxKey{Stream: s.ID, Port: l.Plan.Ports[port].Name}].Received < m.Tx[s.ID].Sent
		}) {
			missing = append(missing, s)
		}
	}
	return missing
}

// unheard describes, for a person, the multicast groups that did not reach all ports that
// joined them. It is empty if other streams are missing as well, or all groups, which has
// another cause.
func unheard(missing, streams []plan.Stream) string {
	groups, all := GroupsOf(missing), GroupsOf(streams)
	if len(groups) == 0 || len(groups) == len(all) || len(groups) < len(missing) {
		return ""
	}
	return fmt.Sprintf("%s of %s multicast groups, from %s up, did not reach all ports that joined them before the trials: the device may hold fewer memberships, or fewer multicast routes",
		traffic.Grouped(len(groups)), traffic.Grouped(len(all)), groups[0].Address)
}

// withUnheard adds to the message of an outcome which groups were missing before its trials,
// where frames were lost in them as well.
func (l *Tester) withUnheard(out Outcome) string {
	switch {
	case l.Unheard == "" || out.Trial != nil && out.Trial.Lost == 0:
		return out.Message
	case out.Message == "":
		return l.Unheard
	}
	return out.Message + "; " + l.Unheard
}

// Silence explains a trial from which no frame came back.
func (l *Tester) Silence(t *Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no test frame came back on %s in %s", list(t.Silent), max(t.Duration, learnTime))
	unresolved := l.Hops.Unresolved
	for i, u := range unresolved {
		if i == 2 {
			fmt.Fprintf(&b, "; %d more neighbors did not answer", len(unresolved)-i)
			break
		}
		b.WriteString("; " + u.Unanswered())
	}
	if len(unresolved) == 0 {
		fmt.Fprintf(&b, "; every neighbor answered: check the device's routes and filters%s, and that its MTU takes the frame", l.carries(t.Silent))
	}
	return b.String()
}

// carries advises that the device has the VLAN of a silent port on that port.
func (l *Tester) carries(silent []string) string {
	for _, p := range l.Plan.Ports {
		if len(p.VLANs) > 0 && slices.Contains(silent, p.Name) {
			return fmt.Sprintf(", that its port at %s is in %s", p.Name, p.VLANs)
		}
	}
	return ""
}

// list names at most three of many.
func list(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more ports", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}
