package reservation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/selection"
	"nodrop.dev/nodrop/internal/manifests/team"
)

// Share judges how much of each pool the reservations of a team keep from other teams. Beds that
// only this team may use do not count.
type Share struct {
	team team.Team
	own  func(namespace string) bool
	// others are the names of other teams that may use a bed.
	others map[string]map[string]bool
	// pools are the beds that other teams may use, by pool; pool is the one of each bed.
	pools map[string][]string
	pool  map[string]string
}

// NewShare finds the pools of a lab. The policy may be nil. Own reports whether a namespace belongs
// to the team, and teamOf returns the name of the team of a namespace.
func NewShare(t team.Team, policy *v1alpha1.LabPolicy, l CalendarInput, own func(namespace string) bool, teamOf func(namespace string) string) *Share {
	label := v1alpha1.DefaultPoolLabel
	if policy != nil && policy.Spec.PoolLabel != "" {
		label = policy.Spec.PoolLabel
	}
	s := &Share{team: t, own: own, others: map[string]map[string]bool{}, pools: map[string][]string{}, pool: map[string]string{}}
	names := map[string]string{}
	for namespace := range l.Namespaces {
		if namespace != l.Namespace && !own(namespace) {
			names[namespace] = teamOf(namespace)
		}
	}
	for name, bed := range l.Beds {
		others := map[string]bool{}
		for i := range bed.Spec.Access {
			g := &bed.Spec.Access[i]
			for _, namespace := range g.Names {
				if of := names[namespace]; of != "" {
					others[of] = true
				}
			}
			if g.Selector == nil {
				continue
			}
			selector := selection.Compile(g.Selector)
			for namespace, of := range names {
				if !others[of] && selector.Matches(labels.Set(l.Namespaces[namespace].Labels)) {
					others[of] = true
				}
			}
		}
		if len(others) > 0 {
			s.others[name], s.pool[name] = others, bed.Labels[label]
			s.pools[s.pool[name]] = append(s.pools[s.pool[name]], name)
		}
	}
	return s
}

// most returns how many of the beds of a pool the team may keep at one time.
func (s *Share) most(beds int) int {
	percent := int(cmp.Or(s.team.MaxReservedPoolPercent, v1alpha1.DefaultMaxReservedPoolPercent))
	if percent >= 100 || beds == 1 {
		return beds
	}
	return min((beds*percent+99)/100, beds-1)
}

// Exceeded returns an error if the reservations of the team would keep more beds of a pool at one
// time than it may, in a time of one of them, r; else nil.
func (s *Share) Exceeded(r *v1alpha1.Reservation, c Calendar) *field.Error {
	claim := c.Claims[KeyOf(r)]
	touched := map[string]bool{}
	for _, bed := range claim.Beds {
		if s.others[bed] != nil {
			touched[s.pool[bed]] = true
		}
	}
	for _, pool := range slices.Sorted(maps.Keys(touched)) {
		beds := s.pools[pool]
		limit := s.most(len(beds))
		at, kept := s.peak(r, c, beds)
		if kept <= limit {
			continue
		}
		path, value := BedsField(r)
		return field.Invalid(path, value, fmt.Sprintf(
			"at %s the reservations of team %s would keep %d of the %d beds %s that other teams may use (%s), and may keep %d: reserve fewer beds, choose another time, release another reservation, or ask the lab for a higher maxReservedPoolPercent (1 to 100) in LabPolicy %s",
			at.UTC().Format(time.RFC3339), s.team.Name, kept, len(beds), inPool(pool), s.affected(beds), limit, v1alpha1.LabPolicyName))
	}
	return nil
}

// Warnings describe whom a reservation of several beds affects.
func (s *Share) Warnings(r *v1alpha1.Reservation, c Calendar) []string {
	claim := c.Claims[KeyOf(r)]
	kept := map[string][]string{}
	for _, bed := range claim.Beds {
		if s.others[bed] != nil {
			kept[s.pool[bed]] = append(kept[s.pool[bed]], bed)
		}
	}
	var warnings []string
	for _, pool := range slices.Sorted(maps.Keys(kept)) {
		beds := kept[pool]
		if len(beds) < 2 || len(claim.Occurrences) == 0 {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s the reservation keeps %d of the %d beds %s from other teams (%s): their benchmarks that would not end before wait",
			claim.Occurrences[0], len(beds), len(s.pools[pool]), inPool(pool), s.affected(beds)))
	}
	return warnings
}

// inPool describes a pool; the beds without one are all of the lab in most labs.
func inPool(pool string) string {
	if pool == "" {
		return "without a pool"
	}
	return fmt.Sprintf("of pool %q", pool)
}

// affected names the other teams that may use some beds, the first three of them.
func (s *Share) affected(beds []string) string {
	all := map[string]bool{}
	for _, bed := range beds {
		maps.Copy(all, s.others[bed])
	}
	names := slices.Sorted(maps.Keys(all))
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// change is the begin or end of slices of the team.
type change struct {
	at time.Time
	// kept and named count beds: all that are kept from others, and those that reservations name
	// or select; mine counts the ones of the judged reservation.
	kept, named, mine int
}

// peak returns the time in a reservation at which the team keeps most of some beds. A time in which
// its reservations name one bed only does not count: one bed can always be reserved.
func (s *Share) peak(r *v1alpha1.Reservation, c Calendar, beds []string) (at time.Time, most int) {
	columns := map[*Slice]int{} // Beds with the same slices.
	booked := map[*Slice][]Slice{}
	for _, bed := range beds {
		if of := c.Of[bed]; len(of) > 0 {
			columns[&of[0]]++
			booked[&of[0]] = of
		}
	}
	key := KeyOf(r)
	for _, o := range c.Claims[key].Occurrences {
		var changes []change
		for first, n := range columns {
			for _, b := range Overlapping(booked[first], o) {
				if !s.own(b.Reservation.Namespace) {
					continue
				}
				begin := change{at: later(b.From, o.From), kept: n}
				if b.Via == "" {
					begin.named = n
				}
				if b.Reservation == key {
					begin.mine = n
				}
				changes = append(changes, begin, change{at: earlier(b.Until, o.Until), kept: -n, named: -begin.named, mine: -begin.mine})
			}
		}
		slices.SortFunc(changes, func(a, b change) int { return a.at.Compare(b.at) })
		now := change{}
		for i, ch := range changes {
			now.kept, now.named, now.mine = now.kept+ch.kept, now.named+ch.named, now.mine+ch.mine
			if last := i+1 == len(changes) || changes[i+1].at.After(ch.at); last && now.mine > 0 && now.named > 1 && now.kept > most {
				at, most = ch.at, now.kept
			}
		}
	}
	return at, most
}
