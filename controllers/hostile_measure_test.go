package controllers_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/hostileteam"
)

// Limits of TestMeasureHostileTeam.
const (
	minHonestRatio = 0.8
	maxOperatorMiB = 400
)

// hostileWarmUp is the time at the beginning of a run in which ended benchmarks do not count.
const hostileWarmUp = 10 * time.Second

// honestWork is the result of one run.
type honestWork struct {
	hostile  bool
	measured int
	rate     float64
	// wrong are benchmarks that did not end as measured, refused requests of honest teams that
	// failed, and held beds that stay leased or are quarantined.
	wrong, refused, held []string
	// wait is the time from the creation of a benchmark to its end.
	wait []time.Duration
	// operator is the most memory that the operator has had in MiB; memory and cpu contain the figures of the
	// API server and of etcd, in MiB and in seconds.
	operator float64
	// restarts is the number of operators that ended by themselves.
	restarts    int64
	memory, cpu map[string]float64
	attack      hostileteam.Report
}

// honestCrowd lets each team keep its number of benchmarks waiting.
type honestCrowd struct {
	l *hostileLab

	mu    sync.Mutex
	ended map[string]chan v1alpha1.BenchmarkPhase
	work  honestWork
}

// follow closes the channels of benchmarks that ended.
func (h *honestCrowd) follow(ctx context.Context) {
	h.l.t.Helper()
	namespaces := map[string]cache.Config{}
	for i := range honestTeams {
		namespaces[honestTeam(i)] = cache.Config{}
	}
	watches, err := cache.New(h.l.server.admin, cache.Options{Scheme: h.l.admin.Scheme(), DefaultNamespaces: namespaces})
	h.l.Expect(err).NotTo(HaveOccurred())
	informer, err := watches.GetInformer(ctx, &v1alpha1.Benchmark{}, cache.BlockUntilSynced(false))
	h.l.Expect(err).NotTo(HaveOccurred())
	see := func(obj any) {
		b, ok := obj.(*v1alpha1.Benchmark)
		if !ok || !b.Status.Phase.Finished() {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		key := b.Namespace + "/" + b.Name
		if end := h.ended[key]; end != nil {
			end <- b.Status.Phase
			delete(h.ended, key)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }})
	h.l.Expect(err).NotTo(HaveOccurred())
	go func() { _ = watches.Start(ctx) }()
	h.l.Expect(watches.WaitForCacheSync(ctx)).To(BeTrue())
}

// submit makes benchmarks of a team, one after the other, until the context ends, and waits for
// the last one.
func (h *honestCrowd) submit(ctx context.Context, team, slot int, from time.Time) {
	cfg, _ := h.l.account(honestTeam(team))
	c := newClient(h.l.t, cfg)
	for i := 0; ctx.Err() == nil; i++ {
		b := benchmark(fmt.Sprintf("b-%d-%05d", slot, i), "")
		b.Namespace = honestTeam(team)
		b.Spec.TestBedName, b.Spec.TestBedSelector = "", everyBed()
		end := make(chan v1alpha1.BenchmarkPhase, 1)
		h.mu.Lock()
		h.ended[b.Namespace+"/"+b.Name] = end
		h.mu.Unlock()
		began := time.Now()
		if err := c.Create(context.WithoutCancel(ctx), b); err != nil {
			h.mu.Lock()
			h.work.refused = append(h.work.refused, err.Error())
			h.mu.Unlock()
			time.Sleep(time.Second) // As a person would.
			continue
		}
		select {
		case phase := <-end:
			h.mu.Lock()
			switch {
			case phase != v1alpha1.PhaseMeasured:
				h.work.wrong = append(h.work.wrong, b.Name+" "+string(phase))
			case ctx.Err() == nil && time.Now().After(from):
				h.work.measured++
				h.work.wait = append(h.work.wait, time.Since(began))
			}
			h.mu.Unlock()
		case <-time.After(patience):
			h.mu.Lock()
			h.work.wrong = append(h.work.wrong, b.Name+" did not end")
			h.mu.Unlock()
		}
	}
}

// measureHonest runs one lab, with or without the hostile team, for a time.
func measureHonest(t *testing.T, attacked, fair bool, length time.Duration) (work honestWork) {
	t.Helper()
	t.Run(fmt.Sprintf("hostile=%v", attacked), func(t *testing.T) {
		l := newHostileLab(t, fair)
		h := &honestCrowd{l: l, ended: map[string]chan v1alpha1.BenchmarkPhase{}, work: honestWork{hostile: attacked}}
		follows, unfollow := context.WithCancel(t.Context())
		defer unfollow()
		h.follow(follows)
		ctx, cancel := context.WithTimeout(t.Context(), hostileWarmUp+length)
		defer cancel()
		var all sync.WaitGroup
		cpu := serverCPU(t)
		for team := range honestTeams {
			for slot := range honestWaiting {
				all.Go(func() { h.submit(ctx, team, slot, time.Now().Add(hostileWarmUp)) })
			}
		}
		if attacked {
			h.work.attack = l.attack(ctx, 10_000, 500)
		}
		<-ctx.Done()
		h.work.cpu = serverCPU(t)
		for name, before := range cpu {
			h.work.cpu[name] -= before
		}
		h.work.memory = serverMemory(t)
		all.Wait()
		h.work.held = l.heldBeds()
		h.work.operator, h.work.restarts = float64(l.memory.Load())/(1<<20), l.restarts.Load()
		h.work.rate = float64(h.work.measured) / length.Seconds()
		work = h.work
	})
	return work
}

// serverMemory returns the most memory that the API server and etcd have had, in MiB, by program.
func serverMemory(t *testing.T) map[string]float64 {
	t.Helper()
	used := map[string]float64{}
	eachServer(t, func(p procfs.Proc, stat procfs.ProcStat) {
		if status, err := p.NewStatus(); err == nil {
			used[stat.Comm] += float64(status.VmHWM) / (1 << 20)
		}
	})
	return used
}

// TestMeasureHostileTeam measures ten honest teams without and with a hostile team, alternating,
// each in a lab of its own. NODROP_HOSTILE is the time of each run and how often both are
// repeated, such as 60s,2; with a third part, unlimited, requests of users are not limited by
// fairness.enabled of the chart. It is run by make hostile.
func TestMeasureHostileTeam(t *testing.T) {
	text := os.Getenv("NODROP_HOSTILE")
	if text == "" {
		t.Skip("NODROP_HOSTILE is not set: make hostile")
	}
	parts := append(strings.Split(text, ","), "", "")
	length, err := time.ParseDuration(parts[0])
	rounds, err2 := strconv.Atoi(cmp.Or(parts[1], "2"))
	if err := errors.Join(err, err2); err != nil || rounds < 1 {
		t.Fatalf("NODROP_HOSTILE is %q: give the time of a run and a number of rounds, such as 60s,2: %v", text, err)
	}
	var all []honestWork
	for range rounds {
		for _, attacked := range []bool{false, true} {
			all = append(all, measureHonest(t, attacked, parts[2] != "unlimited", length))
			t.Log("\n" + hostileTable(t, all))
		}
	}
	for _, w := range all {
		if w.operator >= maxOperatorMiB {
			t.Errorf("the operator had %.0f MiB, at most %d are allowed", w.operator, maxOperatorMiB)
		}
		if len(w.wrong) > 0 || len(w.held) > 0 {
			t.Errorf("honest benchmarks that were not measured: %v; held beds: %v", w.wrong, w.held)
		}
	}
	if ratio := honestRatio(all); ratio < minHonestRatio {
		t.Errorf("honest teams got %.2f of the rate without the hostile team, at least %.2f are required", ratio, minHonestRatio)
	}
}

// honestRatio is the median rate with the hostile team as a share of that without it.
func honestRatio(all []honestWork) float64 {
	rates := map[bool][]float64{}
	for _, w := range all {
		rates[w.hostile] = append(rates[w.hostile], w.rate)
	}
	return middle(rates[true]) / middle(rates[false])
}

// hostileTable has one line for each run, and what the hostile team reached in the last one.
func hostileTable(t *testing.T, all []honestWork) string {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "%-8s%14s%10s%10s%7s%9s%6s%9s%14s%19s%17s\n", "hostile", "benchmarks/s", "wait p50", "wait p99", "wrong", "refused", "held", "restarts", "operator MiB", "API server MiB, s", "etcd MiB, s")
	for _, w := range all {
		slices.Sort(w.wait)
		fmt.Fprintf(&text, "%-8v%14.2f%10.1f%10.1f%7d%9d%6d%9d%14.0f%12.0f%7.1f%10.0f%7.1f\n", w.hostile, w.rate, quantile(w.wait, 0.5), quantile(w.wait, 0.99),
			len(w.wrong), len(w.refused), len(w.held), w.restarts, w.operator, w.memory["kube-apiserver"], w.cpu["kube-apiserver"], w.memory["etcd"], w.cpu["etcd"])
	}
	last := all[len(all)-1]
	if last.hostile {
		fmt.Fprintf(&text, "\nratio of the median rates: %.2f\n\n", honestRatio(all))
		if err := last.attack.Print(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range [][]string{last.wrong, last.refused, last.held} {
		if len(s) > 0 {
			fmt.Fprintf(&text, "%d, such as %s\n", len(s), s[0])
		}
	}
	return text.String()
}

// middle returns the median; 0 of no values.
func middle(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// everyBed selects all beds.
func everyBed() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"kind": "modelled"}}
}
