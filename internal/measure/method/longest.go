package method

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/search"
)

// burst is the longest burst that a search found, in frames, 0 if none passed.
type burst struct {
	frames int64
	// passed is a trial with that many frames; nil where none passed. failed is the trial
	// of the fewest frames that did not pass; nil where all passed.
	passed, failed *trials.Trial
}

// decisive returns the trial that a row of the burst describes.
func (b burst) decisive() *trials.Trial {
	if b.frames == 0 {
		return b.failed
	}
	return b.passed
}

// limit returns the trial in which the tester may have been the limit: the one that passed,
// or the one that ended the search. It is nil where there is none.
func (b burst) limit() *trials.Trial {
	for _, t := range []*trials.Trial{b.passed, b.failed} {
		if t != nil && (t.TesterLimited() || t == b.failed && t.Doubtful()) {
			return t
		}
	}
	return nil
}

// longestBursts searches the longest burst of at most so many frames without loss, up to so
// many times. It searches once where the longest one passes, or one frame does not. Further
// searches begin with half and twice the first result: they repeat no trial in which the
// outcome is certain, and are independent of each other.
func longestBursts(ctx context.Context, most, resolution int64, repetitions int32, try func(ctx context.Context, n int64) (*trials.Trial, error)) ([]burst, error) {
	var all []burst
	for len(all) < int(repetitions) {
		var b burst
		failedAt := most + 1
		judge := func(ctx context.Context, n int64) (bool, error) {
			t, err := try(ctx, n)
			if err != nil {
				return false, err
			}
			t.Note(func(r *v1alpha1.TrialRecord) { r.Repetition, r.Tried, r.Latency = int32(len(all)+1), n, nil })
			if t.Lost > 0 || t.Excess > 0 {
				if n < failedAt {
					b.failed, failedAt = t, n
				}
				return false, nil
			}
			b.passed = t
			return true, nil
		}
		var err error
		if len(all) == 0 {
			b.frames, err = search.Longest(ctx, most, 0, resolution, judge)
		} else {
			first := all[0].frames
			b.frames, err = search.LongestBetween(ctx, first/2, 2*first, most, resolution, judge)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, b)
		if b.frames == 0 || b.frames == most {
			break
		}
	}
	return all, nil
}

// burstTrials returns the usual number of trials of so many searches: about 25 halvings of
// some million frames, and 16 of some ten thousand in each further search.
func burstTrials(repetitions int32) int { return 25 + 18*(int(repetitions)-1) }

// framesOf returns the lengths of bursts.
func framesOf(bursts []burst) (all []int64) {
	for _, b := range bursts {
		all = append(all, b.frames)
	}
	return all
}

// caughtUp returns the most frames that a port sent in a row to make up for a delay, in the shortest
// burst of a search that was not forwarded; 0 if the tester was in time. At a constant load so few
// frames are harmless, but a full buffer has no room for them.
func caughtUp(found []burst) (most int64) {
	for _, b := range found {
		if b.failed == nil {
			continue
		}
		if n := int64(b.failed.LongestCatchUp()); n > 1 {
			most = max(most, n)
		}
	}
	return most
}

// limitOf returns a trial in which the tester may have been the limit of a burst, nil where
// there is none.
func limitOf(bursts []burst) *trials.Trial {
	for _, b := range bursts {
		if t := b.limit(); t != nil {
			return t
		}
	}
	return nil
}

// startTogether refuses bursts of senders on different nodes, which do not begin at the same time:
// each node has a clock of its own, and is started by a call of its own. 1,000 frames of 64
// bytes take 67 us at 10 Gbit/s.
func startTogether(test v1alpha1.Test, in plan.Setting, senders []int, path *field.Path) field.ErrorList {
	for _, i := range senders {
		if first, other := in.Ports[senders[0]], in.Ports[i]; first.Node != other.Node {
			return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf(
				"bursts of %s on node %s and of %s on node %s do not begin at the same time, as nodes have clocks of their own: choose a pattern or a bed whose senders are on one node, or leave this test out",
				first.Name, first.Node, other.Name, other.Node))}
		}
	}
	return nil
}
