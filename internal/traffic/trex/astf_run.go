package trex

import (
	"context"
	"crypto/md5" //nolint:gosec // the server's own check of a profile, not of a secret
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

const (
	// firstFragment and nextFragment are the sizes in bytes of the parts in which a profile is sent. The server can answer
	// the first one that it has the profile, by its digest.
	firstFragment, nextFragment = 1000, 500_000
	// astfLeast and astfMost bound the interval between readings of counters.
	astfLeast, astfMost = 10 * time.Millisecond, 200 * time.Millisecond
	// allClients selects the client ports of all pairs of ports.
	allClients = 0xffffffff
)

// upload loads a profile.
func (e *ASTF) upload(ctx context.Context, text string) error {
	for at, size := 0, firstFragment; at < len(text); size = nextFragment {
		end := min(len(text), at+size)
		p := params{"profile_id": profile, "fragment": text[at:end]}
		first, last := at == 0, end == len(text)
		if first {
			p["frag_first"] = true
		}
		if last {
			p["frag_last"] = true
		}
		if first && !last {
			digest := md5.Sum([]byte(text)) //nolint:gosec // as above
			p["md5"] = hex.EncodeToString(digest[:])
		}
		if err := e.call(ctx, "profile_fragment", p); err != nil {
			return fmt.Errorf("loading the profile at byte %d of %d: %w", at, len(text), err)
		}
		at = end
	}
	return nil
}

// neighbors resolves the neighbors to which the ports send: the gateway of each, or the other port.
func (e *ASTF) neighbors(ctx context.Context) error {
	for i, h := range e.hosts {
		hop := h.Gateway
		if !hop.IsValid() {
			hop = e.hosts[1-i].Address.Addr()
		}
		if p := e.server.named(h.Name); p.neighbours.last.dst == hop && p.neighbours.last.src == h.Address.Addr() {
			continue
		}
		if err := e.resolve(ctx, h.Name, hop); err != nil {
			return err
		}
	}
	return nil
}

// resolveWithin bounds the wait for the answer of a neighbor.
const resolveWithin = 10 * time.Second

func (e *ASTF) resolve(ctx context.Context, port string, hop netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, resolveWithin)
	defer cancel()
	_, err := e.Resolve(ctx, port, hop)
	return err
}

// astfRequest is a profile with the time that it takes.
type astfRequest struct {
	profile astfProfile
	// expected is the time in which connections are opened, or data moves, by which the interval between readings is chosen.
	expected time.Duration
	// longest bounds the run. The server ends it by itself then.
	longest time.Duration
	// done reports whether everything has happened.
	done func([]astfSample) bool
}

// run runs a profile and returns what was counted: before the start, and until everything has happened, the profile ended by
// itself, or the longest time was over. Nothing of it is left at the server.
func (e *ASTF) run(ctx context.Context, r astfRequest) (samples []astfSample, err error) {
	if err := e.ready(ctx); err != nil {
		return nil, err
	}
	if err := e.neighbors(ctx); err != nil {
		return nil, err
	}
	text, err := r.profile.text()
	if err != nil {
		return nil, err
	}
	if _, err := e.problem(ctx); err != nil { // earlier ones are void
		return nil, err
	}
	if err := e.call(ctx, "profile_clear", params{"profile_id": profile}); err != nil {
		return nil, err
	}
	defer func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, e.end(after))
	}()
	if err := e.upload(ctx, text); err != nil {
		return nil, err
	}
	before, err := e.sample(ctx)
	if err != nil {
		return nil, err
	}
	before.ends = ends{} // of an earlier run
	err = e.call(ctx, "start", params{
		"profile_id": profile, "mult": 1, "nc": true, "duration": r.longest.Seconds(), "latency_pps": 0, "ipv6": false, "client_mask": allClients,
		"e_duration": 0, "t_duration": 0, "dump_interval": 0,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the profile: %w", err)
	}
	return e.watch(ctx, r, []astfSample{before})
}

// watch reads counters until everything has happened.
func (e *ASTF) watch(ctx context.Context, r astfRequest, samples []astfSample) ([]astfSample, error) {
	every := min(max(r.expected/50, astfLeast), astfMost)
	ran := false
	for begin := e.server.clock.Now(); ; {
		s, err := e.sample(ctx)
		if err != nil {
			return samples, err
		}
		switch s.state {
		case astfRun:
			samples, ran = append(thinned(samples), s), true
			if r.done(samples) || e.server.clock.Now().Sub(begin) > r.longest {
				return samples, nil
			}
		case astfParse, astfBuild:
			if e.server.clock.Now().Sub(begin) > astfStateTimeout {
				return samples, fmt.Errorf("TRex did not run the profile within %s", astfStateTimeout)
			}
		default:
			problem, err := e.problem(ctx)
			switch {
			case err != nil:
				return samples, err
			case problem != "":
				return samples, fmt.Errorf("TRex did not run the profile: %s", problem)
			case !ran && e.number(s.Client, countAttempts) == 0:
				return samples, fmt.Errorf("TRex did not run the profile: it ended in state %d without a connection, and gave no reason", s.state)
			}
			return append(samples, s), nil // it ended by itself, and the counters stay
		}
		if err := e.server.clock.Sleep(ctx, every); err != nil {
			return samples, err
		}
	}
}

// mostSamples is the number of readings that a run keeps.
const mostSamples = 1000

// thinned returns half of the readings if there are as many as a run keeps, with the first and the last one. A reading has the
// load of the ones before it that were left out.
func thinned(samples []astfSample) (kept []astfSample) {
	if len(samples) < mostSamples {
		return samples
	}
	busiest := 0.0
	for i, s := range samples {
		if busiest = max(busiest, s.CPU); i%2 == 0 || i == len(samples)-1 {
			s.CPU, busiest = busiest, 0
			kept = append(kept, s)
		}
	}
	return kept
}

// end stops the profile and removes it, unless the server or the ports were lost.
func (e *ASTF) end(ctx context.Context) error {
	if e.server.client.lost != nil {
		there, err := e.server.afterLoss(ctx, func() error { return e.clear(ctx) })
		if there {
			return err
		}
		return nil
	}
	if e.context == "" {
		return nil
	}
	return e.clear(ctx)
}

// limitsOf returns how busy the server was.
func limitsOf(samples []astfSample) (l workload.Limits) {
	for _, s := range samples {
		l.BusyPPM = max(l.BusyPPM, int64(s.CPU*10_000))
	}
	if lost := samples[len(samples)-1].lost() - samples[0].lost(); lost > 0 {
		l.SoftnetDrops = uint64(lost)
	}
	return l
}

// roles returns the addresses of clients and servers if these are on their ports.
func (e *ASTF) roles(client, server string) (c, s netip.Addr, err error) {
	if client != e.hosts[0].Name || server != e.hosts[1].Name {
		return c, s, fmt.Errorf("clients on port %s and servers on port %s: TRex has clients on %s and servers on %s: %w", client, server, e.hosts[0].Name, e.hosts[1].Name, traffic.ErrUnsupported)
	}
	return e.hosts[0].Address.Addr(), e.hosts[1].Address.Addr(), nil
}

// mssOf returns the largest segment of an MTU.
func mssOf(mtu int) int { return mtu - headerBytes }
