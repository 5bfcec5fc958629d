package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic"
)

const (
	// announcedAtOnce is the number of routes whose UPDATE messages are timed together.
	announcedAtOnce = 2000
	// lookLeast is the shortest time between two looks at what has arrived.
	lookLeast = 100 * time.Millisecond
)

// programming announces routes while frames are sent to all of them in turn, so that it is known
// when the device began to forward to each.
type programming struct {
	probes *probes
	parts  []blockPart
	// which announcements of the plan the parts are.
	which    []int
	patience time.Duration

	// sent are the times of the UPDATE messages, by part and number of announcedAtOnce routes.
	sent [][]routing.Sent
	// first contains when the first frame to each route arrived at a right port, by target.
	first [][]uint64
	// down is the session that ended during the announcement; nil if none did.
	down *routing.DownError
	// trial in which the routes were announced.
	trial *trials.Trial
	// early is the number of routes to which the device forwarded before they were announced,
	// and late the number to which it began to forward after the trial.
	early, late int64
	// paused explains that the tester paused for a part of the delays; empty if it did not.
	paused string
}

// run runs the trial in which the routes are announced.
func (p *programming) run(ctx context.Context, tester *trials.Tester, step plan.Step) error {
	length := programTime(p.probes.count(), p.probes.turn, p.patience)
	watch := trials.Alongside(func(ctx context.Context, stop func()) error { return p.watch(ctx, tester, stop) })
	watch = watch.After(func(ctx context.Context, again bool) error {
		for _, i := range p.which {
			tester.Routes.Announced[i] = true
		}
		if !again {
			return nil
		}
		if err := tester.Routes.WithdrawAll(ctx); err != nil {
			return err
		}
		if err := tester.Generator.Sleep(ctx, p.patience); err != nil { // The device forgets them.
			return err
		}
		for _, i := range p.which {
			tester.Routes.Announced[i] = true
		}
		return nil
	})
	trial, err := tester.Once(ctx, trials.Event{Step: step, Duration: length}, p.probes.trial(0, length), length, watch)
	if err != nil {
		return err
	}
	p.trial, p.first = trial, nil
	for _, t := range p.probes.targets {
		at, err := arrivedAt(ctx, tester, t, t.right())
		if err != nil {
			return err
		}
		p.first = append(p.first, at.first)
	}
	return nil
}

// watch announces the routes, and stops the trial once frames to all routes have arrived, or to
// no further route for some time.
func (p *programming) watch(ctx context.Context, tester *trials.Tester, stop func()) error {
	clock := tester.Generator.Clock()
	p.down = nil
	if err := clock.Sleep(ctx, lookLeast); err != nil {
		return err
	}
	err := p.announce(ctx, tester)
	if errors.As(err, &p.down) {
		stop()
		return nil
	}
	if err != nil {
		return err
	}
	most, since := int64(-1), clock.Now()
	for {
		arrived := int64(0)
		for _, t := range p.probes.targets {
			at, err := arrivedAt(ctx, tester, t, t.right())
			if err != nil {
				return err
			}
			for _, ns := range at.first {
				if ns > 0 {
					arrived++
				}
			}
		}
		now, pause := clock.Now(), p.patience/4
		if arrived > most {
			most, since, pause = arrived, now, min(p.probes.turn, p.patience)/2
		}
		if arrived == p.probes.count() || now.Sub(since) >= p.patience+p.probes.turn {
			stop()
			return nil
		}
		if err := clock.Sleep(ctx, max(lookLeast, pause)); err != nil {
			return err
		}
	}
}

// announce announces all routes, and keeps when the messages of each were handed over.
func (p *programming) announce(ctx context.Context, tester *trials.Tester) error {
	p.sent = make([][]routing.Sent, len(p.parts))
	for k, part := range p.parts {
		for first := uint32(0); first < part.routes.Count; first += announcedAtOnce {
			some := part.routes.Part(first, min(announcedAtOnce, part.routes.Count-first))
			sent, err := tester.Routes.Speaker.Announce(ctx, part.session.Name, []routing.Routes{some})
			if err != nil {
				return fmt.Errorf("announcing routes: %w", err)
			}
			p.sent[k] = append(p.sent[k], sent)
		}
	}
	return nil
}

// delays are the delays of the routes to which the device forwards; nil if their times are of
// clocks of different hosts, were disturbed, or are not known of all routes.
func (p *programming) delays(f *found) *v1alpha1.FIBDelay {
	if p.trial.Untimed() {
		return nil
	}
	var all []int64
	longest := uint64(0)
	for k, t := range p.probes.targets {
		if !p.oneClock(f.ports, t) {
			return nil
		}
		for i, at := range p.first[k] {
			if _, wrong := f.wrong[k][uint32(i)]; wrong || !f.forwarded[k][i] {
				continue
			}
			if at == 0 {
				p.late++
				continue
			}
			sent := p.sent[t.part][(t.offset+uint32(i))/announcedAtOnce]
			longest = max(longest, sent.Last-sent.First)
			if at < sent.First {
				p.early++
				continue
			}
			all = append(all, int64(at-sent.First))
		}
	}
	if len(all) == 0 || p.early+p.late > 0 {
		return nil
	}
	slices.Sort(all)
	rank := func(percent int) int64 { return all[(len(all)*percent+99)/100-1] }
	d := &v1alpha1.FIBDelay{
		Routes: int64(len(all)), P50Ns: rank(50), P99Ns: rank(99), LastNs: all[len(all)-1],
		ResolutionNs: int64(p.turn()) + int64(longest),
	}
	if p.paused = p.trial.Paused(time.Duration(d.P50Ns), time.Duration(d.ResolutionNs)); p.paused != "" {
		return nil
	}
	return d
}

// turn returns the time in which each route got a frame, by the frames that were sent.
func (p *programming) turn() time.Duration {
	longest := p.probes.turn
	for _, t := range p.probes.targets {
		if sent := p.trial.Counters.Measurement.Tx[t.ID].Sent; sent > 0 {
			longest = max(longest, time.Duration(float64(p.trial.TxTime)*float64(t.Networks.Count)/float64(sent)))
		}
	}
	return longest
}

// unknown explains why there are no delays; empty if there are delays, or if the sessions and the receiving
// ports are on different hosts.
func (p *programming) unknown() string {
	switch {
	case p.trial.Untimed():
		return "there are no delays: while the routes were announced a clock was set, a link was disturbed, or others used the tester's processors"
	case p.paused != "":
		return "there are no delays: " + p.paused
	case p.early > 0:
		return fmt.Sprintf("frames to %s routes arrived before these were announced, by another route of the device, so that there are no delays", traffic.Grouped(p.early))
	case p.late > 0:
		return fmt.Sprintf("frames to %s routes arrived only after those to no further route had for %s, so that there are no delays: raise waitTime", traffic.Grouped(p.late), human.Duration(p.patience))
	}
	return ""
}

// oneClock reports whether the session that announces the routes of a target and the ports that
// receive frames to them are on one host.
func (p *programming) oneClock(ports []plan.Port, t target) bool {
	i := slices.IndexFunc(ports, func(port plan.Port) bool { return port.Name == p.parts[t.part].session.Port })
	return !slices.ContainsFunc(t.right(), func(port int) bool { return ports[port].Node != ports[i].Node })
}
