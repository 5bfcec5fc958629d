package allocation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/queue"
)

// view is the state of the lab as the allocator knows it. Its parts each own a topic; the view
// passes every change on to the parts that it concerns.
type view struct {
	// now is the operator's clock.
	now       func() time.Time
	inventory *inventory
	teams     *teams
	ended     *ended
	gangs     *gangs
	line      *line
	judge     *judge
	calendar  *calendar
	shares    *shares
	promises  promises
	agenda    *agenda
}

func newView(o kit.Options) *view {
	v := &view{now: o.Now, inventory: newInventory(), teams: newTeams(), ended: newEnded(), promises: promises{}, agenda: &agenda{}}
	v.gangs = &gangs{byKey: map[queue.Key]*gang{}, inventory: v.inventory}
	v.line = &line{queue: queue.New(), deadlines: o.Deadlines, inventory: v.inventory, teams: v.teams, gangs: v.gangs, ended: v.ended}
	v.judge = &judge{
		profiles: map[queue.Key]*v1alpha1.TrafficProfile{}, classes: map[classKey]*class{}, defaultPolicy: o.DefaultPolicy,
		inventory: v.inventory, teams: v.teams, ended: v.ended, line: v.line, agenda: v.agenda,
	}
	v.calendar = newCalendar(o.Lab.Namespace, v.inventory, v.teams, v.agenda)
	v.shares = &shares{now: o.Now, inventory: v.inventory, teams: v.teams, ended: v.ended, queue: v.line.queue}
	return v
}

// apply brings the view up to date.
func (v *view) apply(ch changes, now time.Time) {
	for name, ns := range ch.namespaces {
		v.applyNamespace(name, ns)
	}
	for key, p := range ch.profiles {
		v.ended.applyProfile(key, p)
		v.judge.applyProfile(key, p)
	}
	moved := false
	for name, bed := range ch.beds {
		moved = v.applyBed(name, bed) || moved
	}
	if moved {
		v.inventory.findConflicts()
	}
	for name, p := range ch.policies {
		v.applyPolicy(name, p)
	}
	for _, b := range ch.ended {
		if w, first := v.ended.learn(b, v.now()); first {
			v.judge.placeWork(w)
		}
		v.gangs.end(b)
	}
	for key, r := range ch.reservations {
		v.calendar.apply(key, r)
	}
	for _, key := range ch.arrivals() {
		v.applyBenchmark(key, ch.benchmarks[key])
	}
	for _, settle := range ch.written {
		settle(now)
	}
	if len(ch.benchmarks)+len(ch.beds)+len(ch.profiles)+len(ch.namespaces)+len(ch.policies)+len(ch.written) > 0 {
		v.agenda.stale = true
	}
}

// applyNamespace takes over a version of a namespace, and judges again what depends on its
// labels; nil when it is gone.
func (v *view) applyNamespace(name string, ns *corev1.Namespace) {
	if v.teams.setNamespace(name, ns) {
		v.calendar.stale = true
		v.judge.judgeNamespace(name)
	}
}

// applyPolicy takes over a version of the LabPolicy; nil when it is gone.
func (v *view) applyPolicy(name string, p *v1alpha1.LabPolicy) {
	if name == v1alpha1.LabPolicyName && v.teams.setPolicy(p) {
		v.shares.begin(p)
		v.judge.judgeAll()
	}
}

// applyBed takes over a version of a bed, and reports whether its interfaces may have changed.
func (v *view) applyBed(name string, bed *v1alpha1.TestBed) (moved bool) {
	beds := v.inventory.beds
	seen := beds[name]
	v.inventory.byName = nil
	if bed == nil {
		v.calendar.stale = true
		if seen != nil {
			v.setHolder(seen.bed, nil)
			delete(beds, name)
			v.judge.judgeBed(name, nil)
		}
		return true
	}
	if seen == nil {
		seen = &bedView{}
		beds[name] = seen
	} else if seen.bed.UID == bed.UID && older(bed, seen.bed) {
		return false
	}
	before := seen.bed
	seen.bed = bed
	seen.releasing = seen.releasing && equality.Semantic.DeepEqual(kit.LeaseOf(before), bed.Status.Lease)
	v.setHolder(before, bed)
	if before == nil || before.UID != bed.UID || before.Generation != bed.Generation || !equality.Semantic.DeepEqual(before.Labels, bed.Labels) {
		v.judge.judgeBed(name, bed)
		v.calendar.stale = true
		return true
	}
	return false
}

// applyWritten takes over the answer to an own write. A bed that was deleted since stays away,
// also where another one has its name by now.
func (v *view) applyWritten(bed *v1alpha1.TestBed) {
	if seen := v.inventory.beds[bed.Name]; seen != nil && seen.bed.UID == bed.UID {
		v.applyBed(bed.Name, bed)
	}
}

// setHolder records the holder of a bed, and places the benchmarks again that lost or
// got it.
func (v *view) setHolder(before, after *v1alpha1.TestBed) {
	was, is := kit.LeaseOf(before), kit.LeaseOf(after)
	if was != nil && is != nil && was.UID == is.UID {
		return
	}
	holders := v.inventory.holders
	if was != nil && holders[was.UID] == before.Name {
		delete(holders, was.UID)
		v.placeHolder(was)
	}
	if is != nil {
		holders[is.UID] = after.Name
		v.inventory.noteLease(is)
		v.placeHolder(is)
	}
}

func (v *view) placeHolder(l *v1alpha1.BedLease) {
	if w := v.inventory.benchmarks[keyOf(l.Holder)]; w != nil {
		v.line.place(w)
	}
}

// applyBenchmark takes over a version of a benchmark; nil when it is gone or finished.
func (v *view) applyBenchmark(key queue.Key, b *v1alpha1.Benchmark) {
	benchmarks := v.inventory.benchmarks
	w := benchmarks[key]
	if b == nil {
		if w != nil {
			v.judge.leave(w)
			v.line.queue.Remove(key)
			delete(benchmarks, key)
			v.leaveGang(w)
		}
		return
	}
	switch {
	case w == nil:
		w = &waiter{b: b}
		benchmarks[key] = w
		v.agenda.add(key, v.teams.entryOf(b).Preempts)
	case w.b.UID != b.UID:
		v.judge.leave(w)
		v.leaveGang(w)
		*w = waiter{b: b, granting: w.granting}
	case older(b, w.b):
		return
	}
	w.b = b
	if bed := v.inventory.bed(v.inventory.holders[string(b.UID)]); bed != nil && w.leased == nil {
		v.inventory.noteLease(bed.Status.Lease)
	}
	v.gangs.join(w)
	if !kit.Waits(b) || kit.IsHeld(b) {
		v.judge.leave(w)
	} else if w.class == nil {
		v.judge.join(w)
	}
	v.line.place(w)
}

// leaveGang removes a benchmark from its gang, and places the others again.
func (v *view) leaveGang(w *waiter) {
	for _, other := range v.gangs.leave(w) {
		v.line.placeOne(other)
	}
}
