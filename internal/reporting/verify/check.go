package verify

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// check checks one row.
type check struct {
	doc *report.Document
	row *v1alpha1.ResultRow
	out *Verdict
	// test is the test of the row; empty if the document has none of that name.
	test v1alpha1.Test
	// plan of the benchmark; nil if it cannot be made from the document.
	plan *plan.Plan
	// trials of the row, without copies from another row. Of a partial drop rate that the
	// search of the throughput found, they are the trials of the throughput row.
	trials []v1alpha1.TrialRecord
	log    v1alpha1.TrialLog
	// copied reports whether the trials belong to the throughput row.
	copied bool
	// decides is the trial whose counts the row has; nil if there is none.
	decides *v1alpha1.TrialRecord

	paths  []string
	values map[string]int64
	done   map[string]bool
}

// value returns a figure of the row; 0 if it is absent.
func (c *check) value(field string) int64 { return c.values[field] }

// has reports whether the row has a figure.
func (c *check) has(field string) bool { _, has := c.values[field]; return has }

// is recomputes a figure. A figure that is absent counts as 0.
func (c *check) is(field string, want int64) {
	c.done[field] = true
	c.out.Recomputed++
	if got := c.values[field]; got != want {
		c.mismatch(field, fmt.Sprint(got), fmt.Sprint(want))
	}
}

// ifAny recomputes a figure that the row has.
func (c *check) ifAny(field string, want int64) {
	if c.has(field) {
		c.is(field, want)
	}
}

// answers recomputes an answer of yes or no.
func (c *check) answers(field string, want bool) {
	n := int64(0)
	if want {
		n = 1
	}
	c.is(field, n)
}

// agrees checks a figure for consistency with others.
func (c *check) agrees(field string, holds bool, want string) {
	if !c.has(field) || c.done[field] {
		return
	}
	c.done[field] = true
	c.out.Consistent++
	addName(&c.out.Weak, string(c.row.Method)+" "+fieldOf(field))
	if !holds {
		c.mismatch(field, fmt.Sprint(c.value(field)), want)
	}
}

// within checks a figure that is known up to a rounding.
func (c *check) within(field string, want, by int64) {
	got := c.value(field)
	c.agrees(field, got >= want-by && got <= want+by, fmt.Sprintf("%d, or differ by at most %d", want, by))
}

// between checks the bounds of a figure.
func (c *check) between(field string, low, high int64) {
	c.agrees(field, c.value(field) >= low && c.value(field) <= high, fmt.Sprintf("from %d to %d", low, high))
}

func (c *check) mismatch(field, printed, want string) {
	c.out.Mismatches = append(c.out.Mismatches, Mismatch{Row: c.row.Name(), Field: field, Printed: printed, Recomputed: want})
}

// complain reports a word of the row that is wrong.
func (c *check) complain(field string, printed any, holds bool, want string) {
	c.out.Consistent++
	if !holds {
		c.mismatch(field, fmt.Sprint(printed), want)
	}
}

// figure sums up a figure over all trials of the row.
func (c *check) figure(name string) (s spread) {
	for i := range c.log.Trials {
		for _, f := range c.log.Trials[i].Figures {
			if f.Name == name && c.log.Trials[i].Verdict != v1alpha1.TrialVoid {
				s.merge(f)
				if f.Count == 1 {
					s.all = append(s.all, f.Sum)
				}
			}
		}
	}
	for _, f := range c.log.OmittedFigures {
		if f.Name == name {
			s.merge(f)
		}
	}
	return s
}

// figureOf returns a figure of one trial; 0 if it has none.
func figureOf(r *v1alpha1.TrialRecord, name string) int64 {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Sum
		}
	}
	return 0
}

// part returns a part of a trial by its name; nil if it has none.
func part(r *v1alpha1.TrialRecord, name string) *v1alpha1.TrialPart {
	if r == nil {
		return nil
	}
	if i := slices.IndexFunc(r.Parts, func(p v1alpha1.TrialPart) bool { return p.Name == name }); i >= 0 {
		return &r.Parts[i]
	}
	return nil
}

// role returns the trials of a role that count.
func (c *check) role(role string) (all []*v1alpha1.TrialRecord) {
	for i := range c.trials {
		if r := &c.trials[i]; r.Role == role && r.Verdict != v1alpha1.TrialVoid {
			all = append(all, r)
		}
	}
	return all
}

// summary checks count, average and extremes of values that a row sums up.
func (c *check) summary(prefix string, s spread) {
	c.is(prefix+"avgNs", s.mean())
	c.is(prefix+"minNs", s.min)
	c.is(prefix+"maxNs", s.max)
}

func because(r *v1alpha1.TrialRecord, reason v1alpha1.TrialReason) bool {
	return r != nil && slices.Contains(r.Reasons, reason)
}
