package trex

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"nodrop.dev/nodrop/internal/traffic"
)

// counter is a counter of the server.
type counter struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
	Help string `json:"help"`
	// Info is error for a counter of something that should not happen.
	Info string `json:"info"`
}

// The names of counters, as get_counter_desc returns them.
const (
	countAttempts    = "tcps_connattempt"
	countAccepts     = "tcps_accepts"
	countConnects    = "tcps_connects"
	countClosed      = "tcps_closed"
	countDrops       = "tcps_drops"
	countEarlyDrops  = "tcps_conndrops"
	countTimedOut    = "tcps_timeoutdrop"
	countIdleDrops   = "tcps_keepdrops"
	countTimeouts    = "tcps_rexmttimeo"
	countSYNAgain    = "tcps_rexmttimeo_syn"
	countAgain       = "tcps_sndrexmitpack"
	countSent        = "tcps_sndbyte"
	countReceived    = "tcps_rcvbyte"
	countAcked       = "tcps_rcvackbyte"
	countDuration    = "m_traffic_duration"
	countTCPNoBuffer = "tcps_nombuf"
)

// limitCounters count what the server did not do since it did not keep up.
var limitCounters = []string{"err_c_nf_throttled", "err_s_nf_throttled", "err_flow_overflow", "err_no_memory", "err_c_tuple_err", countTCPNoBuffer}

// neededCounters are the counters from which results are made.
var neededCounters = append([]string{
	countAttempts, countAccepts, countConnects, countClosed, countDrops, countEarlyDrops, countTimedOut, countIdleDrops, countTimeouts, countSYNAgain,
	countAgain, countSent, countReceived, countAcked, countDuration,
}, limitCounters...)

// describe reads the counters that the server has. It fails if one is missing from which results are made.
func (e *ASTF) describe(ctx context.Context) error {
	var answer struct {
		Data []counter `json:"data"`
	}
	if err := e.server.client.call(ctx, "get_counter_desc", params{"profile_id": profile}, &answer); err != nil {
		return err
	}
	e.counters = map[string]counter{}
	for _, c := range answer.Data {
		e.counters[c.Name] = c
	}
	var missing []string
	for _, name := range neededCounters {
		if _, has := e.counters[name]; !has {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("TRex %s at %s has no counters %q, from which connections and goodput follow: use TRex v3.08: %w", e.server.version.Version, e.server.client.endpoint, missing, traffic.ErrUnsupported)
	}
	return nil
}

// counts are the values of one end by the number of the counter. The server leaves out counters that are zero.
type counts map[string]float64

// ends are the counts of both ends.
type ends struct {
	Client counts `json:"client"`
	Server counts `json:"server"`
}

// value returns a counter of one end.
func (e *ASTF) value(c counts, name string) float64 {
	return c[strconv.Itoa(e.counters[name].ID)]
}

// number returns a counter of one end that counts events.
func (e *ASTF) number(c counts, name string) int64 { return int64(e.value(c, name)) }

// sum returns the sum of counters over both ends.
func (e *ASTF) sum(at ends, names ...string) (n int64) {
	for _, name := range names {
		n += e.number(at.Client, name) + e.number(at.Server, name)
	}
	return n
}

// faults describes the counters of errors that are not zero, at most so many.
func (e *ASTF) faults(at ends, most int) (texts []string) {
	var errors []counter
	for _, c := range e.counters {
		if c.Info == "error" {
			errors = append(errors, c)
		}
	}
	slices.SortFunc(errors, func(a, b counter) int { return a.ID - b.ID })
	for _, end := range []struct {
		name string
		counts
	}{{"client", at.Client}, {"server", at.Server}} {
		for _, c := range errors {
			if n := e.number(end.counts, c.Name); n > 0 && len(texts) < most {
				texts = append(texts, fmt.Sprintf("TRex's %s counted %s in %s (%s)", end.name, traffic.Grouped(n), c.Name, c.Help))
			}
		}
	}
	return texts
}

// global are counters of the whole server.
type global struct {
	// CPU is the share of the time in percent in which the processors that send were busy.
	CPU float64 `json:"m_cpu_util"`
	// QueueFull and AllocError are frames that were not sent.
	QueueFull  float64 `json:"m_total_queue_full"`
	AllocError float64 `json:"m_total_alloc_error"`
}

// lost returns the frames that the server did not send since it did not keep up.
func (g global) lost() float64 { return g.QueueFull + g.AllocError }

// astfSample contains the counters at a moment.
type astfSample struct {
	at moment
	ends
	global
	state int
}

// sample reads the counters of the profile, with the time of the server at which it read them.
func (e *ASTF) sample(ctx context.Context) (s astfSample, err error) {
	answers, err := e.server.client.batch(ctx, []call{timeCall, {"get_counter_values", params{"profile_id": profile}}, {"get_global_stats", nil}, syncCall})
	if err != nil {
		return s, err
	}
	if s.at, err = momentOf(answers[0]); err != nil {
		return s, err
	}
	var states synced
	for i, into := range []any{&s.ends, &s.global, &states} {
		if err := json.Unmarshal(answers[i+1], into); err != nil {
			return s, fmt.Errorf("reading TRex's counters: %w", err)
		}
	}
	s.state = states.Profiles[profile]
	return s, nil
}
