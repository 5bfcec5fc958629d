package trials

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// LearnTime is how long the tester waits for the first frames to come back. Tests with devices that
// lose all frames of a stream shorten it.
var LearnTime = 5 * time.Second

// Learning: how often the tester sends the first frames again, and how long it gives them each time before it looks.
const (
	learnPeriod = time.Second
	LearnLook   = 50 * time.Millisecond
	learnRate   = 1000 // frames/s
)

// answersAge is the maximum age of the receivers' answers at the end of a trial. It is below
// 300 s, the default aging time of a bridge (IEEE 802.1D).
const answersAge = 4 * time.Minute

// Learning lets the device find out where addresses are, before any trial.
type Learning struct {
	generator *Generator
	// Introduced reports whether the last frames were those that introduced the streams,
	// which the device may hold until it knows its neighbors: stale ones say nothing then.
	Introduced bool
	// Unheard describes the multicast groups that did not reach all ports before the trials;
	// empty if all did.
	Unheard string
	// answered is the time of the last answers of receivers that send nothing; zero if there
	// are none.
	answered time.Time
}

// learn lets receivers that send nothing answer first. Then a few frames of every stream are
// sent.
func (l *Learning) learn(ctx context.Context, s Setup, size plan.Size) error {
	if err := l.answer(ctx, s, size); err != nil {
		return err
	}
	return l.introduce(ctx, s.Plan, size, s.Plan.At(size).Streams())
}

// answer lets the receivers that send nothing tell where they are. Afterwards the
// generator has the streams of the setup again.
func (l *Learning) answer(ctx context.Context, s Setup, size plan.Size) error {
	streams, hops := s.Answers()
	if len(streams) == 0 {
		l.answered = time.Time{}
		return nil
	}
	other := s.with(streams, &Neighbours{Sources: s.Hops.Sources, NextHops: hops})
	if err := l.generator.configure(ctx, other.traffic(size)); err != nil {
		return err
	}
	if err := l.introduce(ctx, other.Plan, size, other.Plan.At(size).Streams()); err != nil {
		return err
	}
	l.answered = l.generator.Clock().Now()
	return l.generator.configure(ctx, s.traffic(size))
}

// outdated reports whether the device would forget the answers of the receivers before the
// end of a trial. One that is longer than that ends with flooded frames.
func (l *Learning) outdated(trial traffic.Trial) bool {
	return !l.answered.IsZero() && l.generator.Clock().Now().Add(SendingTime(trial)).Sub(l.answered) >= answersAge
}

// introduce sends a few frames of streams, one per host, and waits for them to come
// back: the first frames after a silence are lost while bridges and routers find out
// where addresses are, and are not part of any trial (RFC 2544 section 23). So are those
// that a multicast router gets before it has a route for a group and a sender (RFC 3918
// section 4). A device from which nothing comes back is left to the trials.
func (l *Learning) introduce(ctx context.Context, p plan.Plan, size plan.Size, streams []plan.Stream) error {
	clock := l.generator.Clock()
	l.Introduced = true
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	loads, err := p.At(size).Loads(plan.Share(500_000))
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
		trial.Loads[s.ID] = traffic.Load{Rate: slow[rate], Frames: hostsOf(s)}
	}
	least := len(streams)
	for end := clock.Now().Add(LearnTime); clock.Now().Before(end); {
		sent := clock.Now()
		m, _, err := l.generator.Run(ctx, trial, LearnLook)
		if err != nil {
			return err
		}
		missing := missingAt(p.Ports, m, streams)
		if len(missing) == 0 {
			l.Unheard = ""
			return nil
		}
		l.Unheard = unheard(missing, streams)
		if p.RoutesMulticast && len(missing) < least {
			least, end = len(missing), clock.Now().Add(LearnTime) // It installs one route after the other.
		}
		if err := clock.Sleep(ctx, learnPeriod-clock.Now().Sub(sent)); err != nil {
			return err
		}
	}
	return nil
}

// missingAt are the streams of which a receiver did not get every frame.
func missingAt(ports []plan.Port, m traffic.Measurement, streams []plan.Stream) []plan.Stream {
	var missing []plan.Stream
	for _, s := range streams {
		if slices.ContainsFunc(s.Rx, func(port int) bool {
			return m.Rx[traffic.RxKey{Stream: s.ID, Port: ports[port].Name}].Received < m.Tx[s.ID].Sent
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
func (l *Learning) withUnheard(out Outcome) string {
	switch {
	case l.Unheard == "" || out.Trial != nil && out.Trial.Lost == 0:
		return out.Message
	case out.Message == "":
		return l.Unheard
	}
	return out.Message + "; " + l.Unheard
}

// hostsOf returns the number of frames of a stream that show the device all of its
// addresses.
func hostsOf(s plan.Stream) uint64 {
	h := s.Headers
	if s.Networks != nil {
		h.DstIPCount = 1 // They are behind the device, which knows its neighbors.
	}
	return uint64(max(h.SrcIPCount, h.DstIPCount, h.SrcMACCount, h.DstMACCount, 1))
}
