package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/measure/truth"
	"nodrop.dev/nodrop/internal/measure/truth/truthtest"
	"nodrop.dev/nodrop/internal/routing"
)

// routePair is a test of a router, of which a capture or the settings of its kernel have the truth.
type routePair struct {
	kind, test, rest string
	// nft are rules of the router's kernel, and batch commands of ip there.
	nft   []string
	batch string
	// capture are the ports that are captured.
	capture []string
	claims  func(t *testing.T, w *wire, row *v1alpha1.ResultRow) []truth.Claim
}

// routeSet is the set of routes of these tests.
var routeSet = routing.Routes{First: netip.MustParsePrefix("2001:2:0:1000::/80")}

// lateBy is the time by which a captured moment and one of the tester differ on a busy machine.
const lateBy = 20 * time.Millisecond

func about(figure string, ns int64, early, late time.Duration, truly time.Duration) truth.Claim {
	return truth.Claim{Figure: figure, Low: float64(ns) - float64(late), High: float64(ns) + float64(early), TrueLow: float64(truly), TrueHigh: float64(truly)}
}

func exactlyCounted(figure string, n, truly int64) truth.Claim {
	return truthtest.Number(figure, n, float64(truly), 0)
}

// eventClaims compare the shortest and the longest time of an event with captured ones.
func eventClaims(event string, e v1alpha1.EventTimes, within time.Duration, captured []time.Duration) []truth.Claim {
	return []truth.Claim{
		exactlyCounted(event+", unseen", int64(e.Unseen), 0),
		about(event+", least, ns", e.MinNs, lateBy, within+lateBy, slices.Min(captured)),
		about(event+", most, ns", e.MaxNs, lateBy, within+lateBy, slices.Max(captured)),
	}
}

// ownRoutes are the manifests of a router to which one session announces so many routes.
func ownRoutes(count int) string {
	return overIPv6(peers(fmt.Sprintf(`{name: networks, sessions: [peer-p2], first: "2001:2:0:1000::/80", count: %d}`, count)))
}

var routePairs = map[v1alpha1.Method]func(*rand.Rand) routePair{
	v1alpha1.MethodConvergence: func(r *rand.Rand) routePair {
		const cycles = 2
		return routePair{
			kind: router.FRR, rest: ownRoutes(200 + r.IntN(3000)), capture: []string{"p2"},
			test: fmt.Sprintf("{name: t, convergence: {load: %d%%, cycles: %d, samplingInterval: %dms, leadTime: 300ms, announcedTime: 1500ms, withdrawnTime: 1500ms}}", 3+r.IntN(10), cycles, 50+r.IntN(100)),
			claims: func(t *testing.T, w *wire, row *v1alpha1.ResultRow) []truth.Claim {
				c := row.Convergence
				if c == nil || row.Trials > cycles || strings.Contains(row.Message, "counters were not read") {
					return nil
				}
				var up, down []time.Duration
				for _, one := range w.converged(t) {
					up, down = append(up, one.announced), append(down, one.withdrawn)
				}
				within := time.Duration(c.ResolutionNs)
				return append(eventClaims("announcement", c.Announce, within, up), eventClaims("withdrawal", c.Withdraw, within, down)...)
			},
		}
	},
	v1alpha1.MethodRouteFlap: func(r *rand.Rand) routePair {
		const flaps = 2
		routes := 500 + r.IntN(2000)
		return routePair{
			kind: router.FRR, rest: flapPeers(routes), capture: []string{"p2", "p3", "p4"},
			test: fmt.Sprintf("{name: t, routeFlap: {routes: primary, flapped: %d, flaps: %d, load: %d%%, samplingInterval: 100ms, leadTime: 500ms, withdrawnTime: 1s, announcedTime: 1s}}", 1+r.IntN(routes), flaps, 3+r.IntN(10)),
			claims: func(t *testing.T, w *wire, row *v1alpha1.ResultRow) []truth.Claim {
				f := row.RouteFlap
				if f == nil || strings.Contains(row.Message, "counters were not read") {
					return nil
				}
				seen, within := w.flapped(t, "p2", flaps), time.Duration(f.ResolutionNs)
				claims := append(eventClaims("withdrawal", f.Withdraw, within, seen.withdrawn), eventClaims("announcement", f.Announce, within, seen.announced)...)
				return append(claims, exactlyCounted("elsewhere", f.Elsewhere, seen.elsewhere), exactlyCounted("lost", f.FlappedLost+f.StableLost, seen.lost))
			},
		}
	},
	v1alpha1.MethodBGPRestart: func(r *rand.Rand) routePair {
		return routePair{
			kind: router.FRR, rest: ownRoutes(200 + r.IntN(2000)), capture: []string{"p2"},
			test: fmt.Sprintf("{name: t, bgpRestart: {load: %d%%, leadTime: 300ms, recoveryTime: 8s, restarts: 1}}", 2+r.IntN(6)),
			claims: func(t *testing.T, w *wire, row *v1alpha1.ResultRow) []truth.Claim {
				s := row.BGPRestart
				if s == nil {
					return nil
				}
				missing := w.missing()
				// Two ports send, and the row has the frames of both.
				each := 2 * float64(time.Second) / float64(row.Frames.OfferedFramesPerSecond)
				return []truth.Claim{
					exactlyCounted("lost", s.AvgLost, missing),
					about("outage, ns", s.Outage.AvgNs, lateBy, lateBy, time.Duration(float64(missing)*each)),
				}
			},
		}
	},
	v1alpha1.MethodRouteRefresh: func(r *rand.Rand) routePair {
		routes := 1000 + r.IntN(10_000)
		return routePair{
			kind: router.FRR, rest: ownRoutes(routes), capture: []string{"p1"},
			test: "{name: t, routeRefresh: {load: 2%, leadTime: 300ms, interval: 3s, refreshes: 1}}",
			claims: func(t *testing.T, w *wire, row *v1alpha1.ResultRow) []truth.Claim {
				s := row.RouteRefresh
				if s == nil || s.Refresh == nil {
					return nil
				}
				return []truth.Claim{exactlyCounted("routes", s.Routes, int64(routes)), about("refresh, ns", s.Refresh.MaxNs, lateBy, lateBy, w.refreshed(t, "p1"))}
			},
		}
	},
	v1alpha1.MethodRouteCapacity: func(r *rand.Rand) routePair {
		routes, forwards := int64(500+r.IntN(1500)), int64(1+r.IntN(2500))
		return routePair{
			kind: one(r, standalone.Routers...), rest: ownRoutes(int(routes)),
			test: fmt.Sprintf("{name: t, routeCapacity: {block: %d, waitTime: 10s}}", 100+r.IntN(400)),
			nft: []string{
				"add table ip6 faults", "add chain ip6 faults forward { type filter hook forward priority 0 ; }",
				fmt.Sprintf("add rule ip6 faults forward ip6 daddr %s-%s drop", routeSet.Prefix(uint32(forwards)).Addr(), routeSet.Prefix(uint32(forwards+routes)).Addr()),
			},
			claims: func(_ *testing.T, _ *wire, row *v1alpha1.ResultRow) []truth.Claim {
				s := row.RouteCapacity
				if s == nil {
					return nil
				}
				c := exactlyCounted("routes", s.Routes, min(routes, forwards))
				if s.Full {
					c.High = float64(s.Announced) - 1
				}
				return []truth.Claim{c}
			},
		}
	},
	v1alpha1.MethodSessionScale: func(r *rand.Rand) routePair {
		each := int64(4 + r.IntN(8))
		holds := 1 + r.Int64N(each-1)
		first := netip.MustParseAddr("2001:2:0:1::2")
		for range holds {
			first = first.Next()
		}
		return routePair{
			kind: one(r, standalone.Routers...),
			rest: overIPv6(strings.Replace(peers(`{name: networks, first: "2001:2:0:1000::/80", count: 10, traffic: false}`), "asn: 65001,", fmt.Sprintf("asn: 65001, count: %d,", each), 1)),
			test: "{name: t, sessionScale: {first: 1, waitTime: 4s, soakTime: 500ms, flapInterval: 100ms}}",
			nft: []string{
				"add table ip6 faults", "add chain ip6 faults in { type filter hook input priority 0 ; }",
				fmt.Sprintf("add rule ip6 faults in ip6 saddr %s-2001:2:0:1::ffff tcp dport 179 reject with tcp reset", first),
			},
			claims: func(_ *testing.T, _ *wire, row *v1alpha1.ResultRow) []truth.Claim {
				s := row.SessionScale
				if s == nil {
					return nil
				}
				return []truth.Claim{exactlyCounted("sessions", int64(s.Sessions), holds), exactlyCounted("sessions that went down", s.Down, 0)}
			},
		}
	},
	v1alpha1.MethodFIBTruth: func(r *rand.Rand) routePair {
		routes := 500 + r.Uint32N(4000)
		var batch strings.Builder
		dropped, misrouted := int64(0), int64(0)
		for i := range routes {
			specific := netip.PrefixFrom(routeSet.Prefix(i).Addr(), 96)
			switch r.IntN(200) {
			case 0:
				dropped++
				fmt.Fprintf(&batch, "route add blackhole %v\n", specific)
			case 1:
				misrouted++
				fmt.Fprintf(&batch, "route add %v via 2001:2:0:3::2 dev p3\n", specific)
			}
		}
		return routePair{
			kind: one(r, standalone.Routers...), rest: fibPeers(routes), batch: batch.String(),
			test: "{name: t, fibTruth: {probesPerSecond: 20000, waitTime: 2s}}",
			claims: func(_ *testing.T, _ *wire, row *v1alpha1.ResultRow) []truth.Claim {
				f := row.FIBTruth
				if f == nil {
					return nil
				}
				return []truth.Claim{exactlyCounted("dropped", f.Dropped, dropped), exactlyCounted("misrouted", f.Misrouted, misrouted), exactlyCounted("routes", f.Routes, int64(routes))}
			},
		}
	},
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// missing returns the number of frames of the last trial that did not come to the captured port,
// although later ones did.
func (w *wire) missing() (n int64) {
	all := w.trials(1000)
	if len(all) == 0 {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	next, came := map[uint16]uint64{}, map[uint16]uint64{}
	for _, f := range w.frames {
		if s := f.signature; s.Epoch == all[len(all)-1] {
			next[s.Stream] = max(next[s.Stream], s.Sequence+1)
			came[s.Stream]++
		}
	}
	for stream := range next {
		n += int64(next[stream] - came[stream])
	}
	return n
}

// refreshed returns the time from the last ROUTE-REFRESH until the device had sent its routes on a
// port. A KEEPALIVE has 19 bytes.
func (w *wire) refreshed(t *testing.T, port string) time.Duration {
	t.Helper()
	const keepalive, interval = 19, 3 * time.Second
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refreshes) == 0 {
		t.Fatal("no ROUTE-REFRESH was captured")
	}
	asked := w.refreshes[len(w.refreshes)-1]
	last := asked
	for _, a := range w.answers {
		if a.port == port && a.bytes > 2*keepalive && a.at.After(asked) && a.at.Before(asked.Add(interval)) {
			last = a.at
		}
	}
	return last.Sub(asked)
}

// inRouter runs a command in the network namespace of a process.
func inRouter(t *testing.T, pid int, name string, args ...string) {
	t.Helper()
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := netif.In(ns, func() error {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w: %s", name, args, err, out)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// disturb lets others use all processors again and again, until the returned function is called.
func disturb(t *testing.T, every, lasts time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { truthtest.Disturb(ctx, every, lasts) })
	return func() { cancel(); all.Wait() }
}

// Rows about routers are right within their intervals, or marked: a capture, or the rules of the
// router's kernel, have the truth.
func TestRealRoutesAreRightOrMarked(t *testing.T) {
	pairs, given := truthtest.Pairs()
	if !given {
		pairs = 1
	}
	if !given && testing.Short() {
		t.Skip("make ground-truth has 20 pairs of each method")
	}
	var lines []truth.Line
	for _, method := range slices.Sorted(maps.Keys(routePairs)) {
		line := truth.Line{Method: method}
		t.Run(string(method), func(t *testing.T) {
			for seed := range pairs {
				t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(seed+1), uint64(len(method))))
					pair := routePairs[method](r)
					needsRouter(t, pair.kind)
					fault := ""
					if r.IntN(4) == 0 {
						every, lasts := time.Duration(3e8+r.Int64N(2e9)), time.Duration(5e6+r.Int64N(3e8))
						fault = fmt.Sprintf("others use all processors for %v every %v", lasts, every)
						defer disturb(t, every, lasts)()
					}
					p := startPeers(t, peersBenchmark(pair.test), pair.rest, "--router", pair.kind)
					_, pid := routerOf(t, p)
					for _, rule := range pair.nft {
						inRouter(t, pid, "nft", strings.Fields(rule)...)
					}
					if pair.batch != "" {
						ipBatch(t, pid, pair.batch)
					}
					w := captureOn(t, pid, pair.capture...)
					document := endPeers(t, p)
					truthtest.Run{
						Seed: seed + 1, Device: fmt.Sprintf("%s, %s %v", pair.kind, pair.test, pair.nft), Fault: fault,
						Rows: document.Rows, Message: document.Message,
						Claims: func(row *v1alpha1.ResultRow) []truth.Claim { return pair.claims(t, w, row) },
					}.Judge(t, &line)
				})
			}
		})
		lines = append(lines, line)
	}
	if err := truth.Print(os.Stdout, lines); err != nil {
		t.Error(err)
	}
}
