package traffic

import (
	"fmt"
	"strings"
)

// Priorities is the number of priorities of a link (IEEE 802.1Q).
const Priorities = 8

// PauseCount counts frames by which a device asked a port to send nothing for a time, or to go on
// before that.
type PauseCount struct {
	// Frames of flow control of the whole link (pause frames, IEEE 802.3 annex 31B).
	Frames uint64
	// ByPriority counts frames of priority-based flow control (PFC, IEEE 802.1Q clause 36) by
	// priority. A frame counts at each priority that it enables.
	ByPriority [Priorities]uint64
}

// Add adds the frames of another port.
func (c *PauseCount) Add(other PauseCount) {
	c.Frames += other.Frames
	for i, n := range other.ByPriority {
		c.ByPriority[i] += n
	}
}

// Since returns the increase since an earlier count. A counter that ran backwards has none.
func (c PauseCount) Since(before PauseCount) PauseCount {
	c.Frames -= min(c.Frames, before.Frames)
	for i, n := range before.ByPriority {
		c.ByPriority[i] -= min(c.ByPriority[i], n)
	}
	return c
}

// AtLeast returns the greater of two counts of the same frames, each by itself.
func (c PauseCount) AtLeast(other PauseCount) PauseCount {
	c.Frames = max(c.Frames, other.Frames)
	for i, n := range other.ByPriority {
		c.ByPriority[i] = max(c.ByPriority[i], n)
	}
	return c
}

// String returns the frames in words: "5 pause frames, 20 PFC frames for priority 3"; empty for
// none.
func (c PauseCount) String() string {
	var texts []string
	if c.Frames > 0 {
		texts = append(texts, Grouped(c.Frames)+" pause frames")
	}
	for i, n := range c.ByPriority {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%s PFC frames for priority %d", Grouped(n), i))
		}
	}
	return strings.Join(texts, ", ")
}
