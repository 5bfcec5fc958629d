package verify

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// series verifies the rates in the course of a trial.
func (c *check) series() {
	if c.row.Series != nil {
		c.rates("series.", c.row.Series)
	}
	if f := c.row.RouteFlap; f != nil && f.Stable != nil {
		c.rates("routeFlap.stable.", f.Stable)
	}
}

func (c *check) rates(in string, s *v1alpha1.RateSeries) {
	p := &s.Points
	n := len(p.ReceivedFramesPerSecond)
	var end, sent, received int64
	for i := range n {
		at := func(name string) string { return fmt.Sprintf("%spoints.%s[%d]", in, name, i) }
		if i < len(p.EndNs) && i < len(p.SentFrames) && i < len(p.ReceivedFrames) {
			took := p.EndNs[i] - end
			c.is(at("sentFramesPerSecond"), rate(max(0, p.SentFrames[i]-sent), took, second))
			c.is(at("receivedFramesPerSecond"), rate(max(0, p.ReceivedFrames[i]-received), took, second))
			c.ifAny(at("endMilliseconds"), p.EndNs[i]/million)
			if took <= 0 {
				c.mismatch(at("endNs"), fmt.Sprint(p.EndNs[i]), fmt.Sprintf("more than %d", end))
			}
			if i < len(p.MinFrames) && i < len(p.MinNs) {
				c.ifAny(at("minReceivedFramesPerSecond"), rate(p.MinFrames[i], p.MinNs[i], second))
			}
			end, sent, received = p.EndNs[i], p.SentFrames[i], p.ReceivedFrames[i]
		}
		c.between(at("minReceivedFramesPerSecond"), s.MinReceivedFramesPerSecond, c.value(at("receivedFramesPerSecond")))
		c.agrees(at("sentFramesPerSecond"), true, "")
		c.agrees(at("receivedFramesPerSecond"), true, "")
		c.agrees(at("endMilliseconds"), true, "")
	}
	if n == 0 {
		return
	}
	if s.MaxNs > 0 {
		c.is(in+"maxReceivedFramesPerSecond", rate(s.MaxFrames, s.MaxNs, second))
	}
	if len(p.EndNs) == n {
		c.is(in+"avgReceivedFramesPerSecond", rate(received, end, second))
		c.is(in+"durationMilliseconds", end/million)
	}
	low, high := slices.Min(p.ReceivedFramesPerSecond), slices.Max(p.ReceivedFramesPerSecond)
	if len(p.MinReceivedFramesPerSecond) == 0 {
		c.is(in+"samples", int64(n))
		c.is(in+"minReceivedFramesPerSecond", low)
		c.is(in+"maxReceivedFramesPerSecond", high)
	} else {
		each := (int64(s.Samples) + 239) / 240
		c.agrees(in+"samples", each > 0 && (int64(s.Samples)+each-1)/each == int64(n), fmt.Sprintf("a number of which %d points are made", n))
		c.is(in+"minReceivedFramesPerSecond", slices.Min(p.MinReceivedFramesPerSecond))
		c.agrees(in+"maxReceivedFramesPerSecond", s.MaxReceivedFramesPerSecond >= high, fmt.Sprintf("at least %d", high))
	}
	if s.PointMilliseconds > 0 {
		length := s.DurationMilliseconds / int64(n)
		if n > 1 && len(p.EndNs) == n {
			length = nearest(ratio(p.EndNs[n-2], int64(n-1)*million))
		}
		c.within(in+"pointMilliseconds", length, max(1, length/100))
	}
	c.between(in+"avgReceivedFramesPerSecond", s.MinReceivedFramesPerSecond, s.MaxReceivedFramesPerSecond)
	c.agrees(in+"durationMilliseconds", true, "")
}
