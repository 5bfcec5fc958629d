package xdpbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/xdp"
)

const (
	router = "router"
	bridge = "bridge"
	// frameSize is the smallest, where every frame costs most.
	frameSize = 64
	// gigabit is the line rate of 1 Gbit/s in frames of 64 bytes, per 84*8 s.
	gigabit = 1_000_000_000
	bits    = 84 * 8
)

// Options set how much is measured.
type Options struct {
	// Trial is the duration of each measurement.
	Trial time.Duration
	// Rounds is the number of times each measurement is done; rounds are interleaved, and
	// the medians count.
	Rounds int
}

// Result contains what was measured.
type Result struct {
	Rates  []Rate
	Spaces []Spacing
}

// Rate is the number of frames per second that one case sent.
type Rate struct {
	Case string
	// Sent and Received frames per second, the medians of all rounds. Received is 0 where
	// the receiver does not report it.
	Sent, Received float64
}

// Spacing describes how constant a load was kept, as medians of all rounds.
type Spacing struct {
	// Percent of 1 Gbit/s.
	Percent int64
	traffic.Pacing
	// Sent is the share of the intended frames.
	Sent float64
}

// sending is one case: the engine or the bare loop, over a device, to a counter or to
// the engine.
type sending struct {
	name, device string
	bare         *bareLoop
	counted      bool
	// streams of the port, 1 if 0, on so many senders, 1 if 0, over a cable with as many
	// queues.
	streams, senders int
	// ranges gives each stream 10,000,250 microflows, which the receiver counts with track.
	ranges bool
	track  traffic.Track
}

var cases = []sending{
	{name: "bare loop", bare: &bareLoop{batch: 64}, counted: true},
	{name: "bare loop, written", bare: &bareLoop{batch: 64, writes: true}, counted: true},
	{name: "bare, 16 at once", bare: &bareLoop{batch: 16}, counted: true},
	{name: "send", counted: true},
	{name: "send, 4 streams", counted: true, streams: 4},
	{name: "send, 4 streams, 2 senders on 2 queues", counted: true, streams: 4, senders: 2},
	{name: "send and receive"},
	{name: "send and receive, 10 million microflows", ranges: true},
	{name: "send and receive, each of them counted", ranges: true, track: traffic.TrackCounts},
	{name: "through a bridge", device: bridge},
	{name: "through a router", device: router},
}

// Run measures. It needs root.
func Run(ctx context.Context, o Options) (Result, error) {
	sent, received := make([][]float64, len(cases)), make([][]float64, len(cases))
	percents := []int64{10, 50, 90, 100}
	paces := make([][]Spacing, len(percents))
	for range o.Rounds {
		for i, c := range cases {
			s, r, err := c.rate(ctx, o.Trial)
			if err != nil {
				return Result{}, fmt.Errorf("measuring %q: %w", c.name, err)
			}
			sent[i], received[i] = append(sent[i], s), append(received[i], r)
		}
		for i, percent := range percents {
			p, err := space(ctx, percent, o.Trial)
			if err != nil {
				return Result{}, fmt.Errorf("measuring the spacing at %d %%: %w", percent, err)
			}
			paces[i] = append(paces[i], p)
		}
	}
	var result Result
	for i, c := range cases {
		result.Rates = append(result.Rates, Rate{c.name, median(sent[i]), median(received[i])})
	}
	for i, percent := range percents {
		result.Spaces = append(result.Spaces, Spacing{
			Percent: percent,
			Sent:    medianOf(paces[i], func(s Spacing) float64 { return s.Sent }),
			Pacing: traffic.Pacing{
				SpacingError: medianOf(paces[i], func(s Spacing) time.Duration { return s.SpacingError }),
				MaxLag:       medianOf(paces[i], func(s Spacing) time.Duration { return s.MaxLag }),
				MaxBurst:     medianOf(paces[i], func(s Spacing) uint64 { return s.MaxBurst }),
				MaxClump:     medianOf(paces[i], func(s Spacing) uint64 { return s.MaxClump }),
			},
		})
	}
	return result, nil
}

func median[T float64 | uint64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func medianOf[T float64 | uint64 | time.Duration](all []Spacing, of func(Spacing) T) T {
	var values []T
	for _, s := range all {
		values = append(values, of(s))
	}
	return median(values)
}

// rate does one case on a bed of its own.
func (c sending) rate(ctx context.Context, d time.Duration) (sent, received float64, err error) {
	b, err := newBed(c.device, max(1, c.senders))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if c.bare != nil {
		return bareRate(ctx, *c.bare, d)
	}
	m, seconds, err := c.trial(ctx, traffic.Load{Max: true}, d)
	if err != nil {
		return 0, 0, err
	}
	for id := range m.Tx {
		sent += float64(m.Tx[id].Sent)
		received += float64(m.Rx[traffic.RxKey{Stream: id, Port: "p2"}].Received)
	}
	return sent / seconds, received / seconds, nil
}

// bareRate sends on v1 and counts on v2, as the engine does.
func bareRate(ctx context.Context, loop bareLoop, d time.Duration) (sent, received float64, err error) {
	far, err := newCounter("v2", bareLoop{})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, far.close()) }()
	near, err := newCounter("v1", loop)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, near.close()) }()
	// The engine's senders have the first processor and a low niceness, and so has this.
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return 0, 0, fmt.Errorf("asking for the usable processors: %w", err)
	}
	for cpu := range 1024 {
		if before.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return 0, 0, fmt.Errorf("pinning the bare loop: %w", err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &before)) }()
	back, err := raisePriority()
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, back()) }()
	took, err := near.send(ctx, d)
	if err != nil {
		return 0, 0, err
	}
	n, err := far.received()
	rate := float64(n) / took.Seconds()
	return rate, rate, err
}

// raisePriority puts the thread before other processes, as the engine's senders are,
// where that is allowed. It returns how to take that back.
func raisePriority() (func() error, error) {
	const niceness = -15
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the niceness
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	}
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, fmt.Errorf("raising the priority of the bare loop: %w", err)
	}
	return func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 20-before) }, nil
}

// space sends a share of 1 Gbit/s from one end of a cable to the other.
func space(ctx context.Context, percent int64, d time.Duration) (_ Spacing, err error) {
	b, err := newBed("", 1)
	if err != nil {
		return Spacing{}, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	load := traffic.Load{Rate: traffic.Rate{Frames: gigabit / 100 * percent, PerNanos: bits * int64(time.Second)}}
	m, _, err := sending{}.trial(ctx, load, d)
	if err != nil {
		return Spacing{}, err
	}
	return Spacing{Percent: percent, Pacing: m.Pacing["p1"], Sent: float64(m.Tx[1].Sent) / float64(m.Tx[1].Intended)}, nil
}

// trial sends the case's streams from v1 to v2, and returns what was counted and how many
// seconds it took.
func (c sending) trial(ctx context.Context, load traffic.Load, d time.Duration) (m traffic.Measurement, seconds float64, err error) {
	ports := []xdp.Port{{Name: "p1", Interface: "v1", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, Senders: c.senders}}
	to := netip.MustParseAddr("198.18.1.3")
	if c.device == router {
		to = netip.MustParseAddr("198.18.2.2")
	}
	if c.counted {
		far, err := newCounter("v2", bareLoop{})
		if err != nil {
			return m, 0, err
		}
		defer func() { err = errors.Join(err, far.close()) }()
	} else {
		ports = append(ports, xdp.Port{Name: "p2", Interface: "v2", Addresses: []netip.Prefix{netip.PrefixFrom(to, 24)}})
	}
	e, err := xdp.New(xdp.Options{Host: "bench", Ports: ports})
	if err != nil {
		return m, 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s, err := c.stream(ctx, e, to)
	if err != nil {
		return m, 0, err
	}
	streams, loads := []traffic.Stream{s}, map[uint16]traffic.Load{1: load}
	for id := uint16(2); int(id) <= c.streams; id++ {
		s.ID, s.Headers.SrcPort = id, s.Headers.SrcPort+1
		streams, loads[id] = append(streams, s), load
	}
	if err := e.Configure(ctx, streams); err != nil {
		return m, 0, err
	}
	if c.device != "" { // learns addresses
		first := traffic.Trial{Loads: map[uint16]traffic.Load{1: {Rate: traffic.Rate{Frames: 1000, PerNanos: 1e9}, Frames: 100}}}
		if _, err := once(ctx, e, first); err != nil {
			return m, 0, err
		}
	}
	m, err = once(ctx, e, traffic.Trial{Duration: d, Loads: loads})
	return m, m.TxTime.Seconds(), err
}

// stream is one of frames of 64 bytes from p1 to an address of p2.
func (c sending) stream(ctx context.Context, e *xdp.Engine, to netip.Addr) (traffic.Stream, error) {
	info, err := e.Info(ctx)
	if err != nil {
		return traffic.Stream{}, err
	}
	for _, p := range info.Ports {
		if len(p.Notes) > 0 { // it sends or receives in a slower way
			return traffic.Stream{}, fmt.Errorf("port %s (%s): %s", p.Name, p.Interface, strings.Join(p.Notes, "; "))
		}
	}
	s := traffic.Stream{
		ID: 1, TxPort: "p1", RxPorts: []string{"p2"}, FrameSize: frameSize,
		Headers: traffic.Headers{
			SrcMAC: info.Ports[0].MAC, DstMAC: info.Ports[len(info.Ports)-1].MAC,
			SrcIP: netip.MustParseAddr("198.18.1.2"), DstIP: to, SrcIPCount: 1, DstIPCount: 1,
			SrcPort: 20001, DstPort: 30001, SrcPortCount: 1, DstPortCount: 1,
		},
	}
	if c.ranges {
		s.Track, s.Headers.SrcPort, s.Headers.SrcIPCount, s.Headers.SrcPortCount = c.track, 10_000, 250, 40_001
	}
	if c.device == router {
		s.Headers.DstMAC, err = e.Resolve(ctx, "p1", netip.MustParseAddr("198.18.1.1"))
	}
	return s, err
}

// once does a trial. Frames have settled when no more come.
func once(ctx context.Context, e *xdp.Engine, t traffic.Trial) (traffic.Measurement, error) {
	if err := e.Start(ctx, t); err != nil {
		return traffic.Measurement{}, err
	}
	if err := e.Wait(ctx); err != nil {
		return traffic.Measurement{}, err
	}
	const settle = 50 * time.Millisecond
	if err := e.Clock().Sleep(ctx, settle); err != nil {
		return traffic.Measurement{}, err
	}
	return e.Read(ctx)
}

// Print prints a result as two tables.
func (r Result) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "64 bytes\tsent frames/s\treceived frames/s\tns per frame\tof the bare loop\t")
	for _, c := range r.Rates {
		received := "not counted"
		if c.Received > 0 {
			received = traffic.Grouped(int64(c.Received))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.0f\t%.2f\t\n", c.Case, traffic.Grouped(int64(c.Sent)), received, 1e9/c.Sent, c.Sent/r.Rates[0].Sent)
	}
	fmt.Fprintln(w, "\t\t\t\t\t")
	fmt.Fprintln(w, "load of 1 Gbit/s\tsent\tspacing of 99 % within\tlargest clump\tlargest lag\tlongest row of late frames\t")
	for _, s := range r.Spaces {
		fmt.Fprintf(w, "%d %%\t%.2f %%\t%v\t%d\t%v\t%d\t\n", s.Percent, 100*s.Sent, s.SpacingError, s.MaxClump, s.MaxLag.Round(time.Microsecond), s.MaxBurst)
	}
	return w.Flush()
}
