package controlplane

import (
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// coarse states, for a person, the interval at which each network of a class of streams gets
// a frame, if it is longer than the sampling interval: no event of a network is seen
// earlier. It is empty if frames come as often as samples, or as fast as the engine can send
// them. An empty class selects all streams.
func coarse(tester *trials.Tester, step plan.Step, load plan.Amount, class string, sampling time.Duration) (string, error) {
	longest, err := turnOf(tester, step, load, class)
	if err != nil || longest <= sampling {
		return "", err
	}
	return fmt.Sprintf("each network gets a frame every %s: times are no finer than that", trials.TimeText(int64(longest))), nil
}

// networks are those that streams of several senders have in common.
type networks struct {
	first         netip.Prefix
	count, stride uint32
}

// networksTo returns the networks that frames of a stream go to.
func networksTo(s plan.Stream) networks {
	return networks{s.Networks.First, s.Networks.Count, s.Networks.Stride}
}

// turnOf returns how often each network of a class of streams gets a frame; 0 where they are
// sent as fast as the engine can. An empty class is all streams.
func turnOf(tester *trials.Tester, step plan.Step, load plan.Amount, class string) (time.Duration, error) {
	loads, err := tester.Plan.At(step.Size).Loads(load)
	if err != nil {
		return 0, err
	}
	perNano := map[networks]float64{} // frames to each network, of all senders
	for _, s := range tester.Plan.At(step.Size).Streams() {
		if s.Networks == nil || class != "" && s.InClass != class {
			continue
		}
		rate := loads[s.ID].Rate
		if loads[s.ID].Max || rate.Frames <= 0 || rate.PerNanos <= 0 {
			return 0, nil
		}
		n := networksTo(s)
		perNano[n] += float64(rate.Frames) / float64(rate.PerNanos) / float64(n.count)
	}
	var longest float64
	for _, rate := range perNano {
		longest = max(longest, 1/rate)
	}
	return time.Duration(longest), nil
}
