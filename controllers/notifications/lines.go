package notifications

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// teamAtOnce is the maximum number of events of a namespace that are sent at the same time: slow
// receivers of one team leave workers to the others.
const teamAtOnce = 2

// Lines let one event at a time go to each sink, in the order in which benchmarks came, and none while
// its receiver is given time. Benchmarks that wait are woken when it is their turn.
type Lines struct {
	mu   sync.Mutex
	busy map[types.UID]bool
	rest map[types.UID]time.Time
	// sending has the number of events that are being sent by namespace.
	sending map[string]int
	// waiting has the benchmarks in the line of each sink, which are of its namespace.
	waiting map[types.UID][]types.NamespacedName
	wake    func(types.NamespacedName)
}

// NewLines returns lines in which no benchmark stands.
func NewLines() *Lines {
	return &Lines{
		busy: map[types.UID]bool{}, rest: map[types.UID]time.Time{}, sending: map[string]int{}, waiting: map[types.UID][]types.NamespacedName{},
		wake: func(types.NamespacedName) {},
	}
}

// wakeBy sets the function that wakes a benchmark.
func (l *Lines) wakeBy(wake func(types.NamespacedName)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = wake
}

// enter returns what ends the attempt, with the time before which there is no other one. It returns
// nil if the benchmark has to wait in the line: for a time, or, if that is 0, until it is woken.
func (l *Lines) enter(sink types.UID, who types.NamespacedName, now time.Time) (release func(until time.Time), wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.waiting[sink]
	if !slices.Contains(line, who) {
		line = append(line, who)
		l.waiting[sink] = line
	}
	switch until := l.rest[sink]; {
	case line[0] != who, l.busy[sink], l.sending[who.Namespace] >= teamAtOnce:
		return nil, 0
	case until.After(now):
		return nil, until.Sub(now)
	}
	l.remove(sink, who)
	l.busy[sink] = true
	l.sending[who.Namespace]++
	return func(until time.Time) {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.busy, sink)
		delete(l.rest, sink)
		if !until.IsZero() {
			l.rest[sink] = until
		}
		if l.sending[who.Namespace]--; l.sending[who.Namespace] == 0 {
			delete(l.sending, who.Namespace)
		}
		l.wakeFirst(who.Namespace)
	}, 0
}

// leave takes a benchmark out of all lines but those that it waits in.
func (l *Lines) leave(who types.NamespacedName, waits map[types.UID]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := false
	for sink, line := range l.waiting {
		if line[0].Namespace == who.Namespace && !waits[sink] && slices.Contains(line, who) {
			l.remove(sink, who)
			left = true
		}
	}
	if left {
		l.wakeFirst(who.Namespace)
	}
}

func (l *Lines) remove(sink types.UID, who types.NamespacedName) {
	l.waiting[sink] = slices.DeleteFunc(l.waiting[sink], func(one types.NamespacedName) bool { return one == who })
	if len(l.waiting[sink]) == 0 {
		delete(l.waiting, sink)
	}
}

// wakeFirst wakes the first benchmark in each line of a namespace whose sink is free.
func (l *Lines) wakeFirst(namespace string) {
	for sink, line := range l.waiting {
		if line[0].Namespace == namespace && !l.busy[sink] {
			l.wake(line[0])
		}
	}
}
