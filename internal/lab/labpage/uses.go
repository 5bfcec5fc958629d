package labpage

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// week is the time over which the use of beds is added up.
const week = 7 * 24 * time.Hour

// usesOf adds up the time for which benchmarks of each namespace had each bed within the last week, by bed and
// namespace. Benchmarks that were deleted do not count.
func usesOf(beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark, now time.Time) map[string]map[string]time.Duration {
	uses := make(map[string]map[string]time.Duration, len(beds))
	add := func(bed, namespace string, from, until time.Time) {
		if begin := now.Add(-week); from.Before(begin) {
			from = begin
		}
		if until.After(now) {
			until = now
		}
		if bed == "" || !until.After(from) {
			return
		}
		if uses[bed] == nil {
			uses[bed] = map[string]time.Duration{}
		}
		uses[bed][namespace] += until.Sub(from)
	}
	finished := map[string]bool{}
	for i := range benchmarks {
		b := &benchmarks[i]
		for _, r := range b.Status.EarlierRuns {
			add(r.TestBedName, b.Namespace, r.From.Time, r.Until.Time)
		}
		if b.Status.Phase.Finished() && b.Status.StartTime != nil && b.Status.CompletionTime != nil {
			add(b.Status.TestBedName, b.Namespace, lastBegin(b), end(b))
			finished[string(b.UID)] = true
		}
	}
	for i := range beds {
		if l := beds[i].Status.Lease; l != nil && !finished[l.UID] {
			namespace, _, _ := strings.Cut(l.Holder, "/")
			add(beds[i].Name, namespace, l.AcquireTime.Time, now)
		}
	}
	return uses
}

// used is a part of a week.
type used struct {
	// Team is empty for the teams that the person may not see, together.
	Team    string
	Hours   float64
	Percent float64
}

// usesSize is the maximum number of teams of a bed that are named.
const usesSize = 5

// Used returns the use of the bed in the last week: in all, and by team, the most first. Teams that the person may not
// see are added up.
func (v bedView) Used() used {
	var all used
	for _, part := range v.Uses {
		all.Hours, all.Percent = all.Hours+part.Hours, all.Percent+part.Percent
	}
	return all
}

// usesOf returns the parts that teams had in the use of a bed.
func (v visible) usesOf(bed string) (parts []used) {
	var others time.Duration
	for namespace, d := range v.lab.uses[bed] {
		if v.benchmarks.has(namespace) {
			parts = append(parts, usedBy(namespace, d))
		} else {
			others += d
		}
	}
	slices.SortFunc(parts, func(a, b used) int { return cmp.Or(cmp.Compare(b.Hours, a.Hours), cmp.Compare(a.Team, b.Team)) })
	for _, rest := range parts[min(usesSize, len(parts)):] {
		others += time.Duration(rest.Hours * float64(time.Hour))
	}
	parts = parts[:min(usesSize, len(parts))]
	if others > 0 {
		parts = append(parts, usedBy("", others))
	}
	return parts
}

func usedBy(team string, d time.Duration) used {
	return used{Team: team, Hours: d.Hours(), Percent: 100 * float64(d) / float64(week)}
}
