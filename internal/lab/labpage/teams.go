package labpage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// teamView is a team in the list, with its share of the beds.
type teamView struct {
	Name                   string
	Weight                 int32
	Running, Queued, Hours int32
	// Share is the part of the hours of all teams, in percent.
	Share float64
	// Due and Had are the bed time that the team was due and has had within the window, and Behind is the difference by
	// which the queue orders teams.
	Due, Had, Behind time.Duration
}

type teamsPage struct {
	frame
	// Policy reports whether the lab has a LabPolicy.
	Policy bool
	Window time.Duration
	Rows   []teamView
	Pager  pager
}

// teams shows the standings of the teams, as the status of the LabPolicy has them for the same person.
func (p *Page) teams(ctx context.Context, q *request) (*answer, error) {
	may, err := q.may(ctx, "list", "labpolicies", "", "")
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, errForbidden
	}
	page := teamsPage{frame: p.frame(q, "teams", "Teams", 60)}
	var all []teamView
	if policy := q.lab.policy; policy != nil {
		page.Policy, page.Window = true, policy.Spec.Window.Duration
		all = teamsOf(policy)
	}
	page.Rows, page.Pager = paged(all, q.URL.Query(), listSize, "team")
	return render("teams", page)
}

// teamsOf returns the teams of a policy, first those that had beds for the longest time.
func teamsOf(policy *v1alpha1.LabPolicy) (teams []teamView) {
	hours := int32(0)
	for i := range policy.Status.Teams {
		t := &policy.Status.Teams[i]
		view := teamView{Name: t.Name, Weight: t.Weight, Running: t.Running, Queued: t.Queued, Hours: t.BedHoursInWeek}
		for _, pool := range t.Pools {
			view.Due, view.Had, view.Behind = view.Due+pool.Due.Duration, view.Had+pool.Had.Duration, view.Behind+pool.Behind.Duration
		}
		hours += view.Hours
		teams = append(teams, view)
	}
	for i := range teams {
		teams[i].Share = 100 * float64(teams[i].Hours) / float64(max(hours, 1))
	}
	slices.SortStableFunc(teams, func(a, b teamView) int {
		return cmp.Or(cmp.Compare(b.Hours, a.Hours), compareNaturally(a.Name, b.Name))
	})
	return teams
}
