package xdp

import (
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// fallbacks returns a note for each way in which a port did not use the XDP of its driver
// in the trial.
func (t *trial) fallbacks(p *port) []traffic.Note {
	var notes []traffic.Note
	note := func(format string, args ...any) {
		notes = append(notes, traffic.Note{Kind: traffic.NoteFallback, Text: fmt.Sprintf(format, args...)})
	}
	for _, s := range t.senders {
		for _, l := range s.lanes {
			if _, zeroCopy := l.user.(*zeroCopySender); l.port == p && l.user != nil && !zeroCopy {
				way, _ := p.userPath()
				note("frames of %s were sent %s, in bursts of up to %s frames and up to %v behind their schedule", p.Name,
					way, traffic.Grouped(l.tx.Clump), time.Duration(l.tx.Lag).Round(time.Microsecond))
			}
		}
	}
	if p.generic != "" && len(p.rx) > 0 {
		note("frames of %s were received %s", p.Name, p.generic)
	}
	return notes
}

// throughPacketSocket describes how a port sends that cannot send by XDP.
func throughPacketSocket(why string) string {
	return "through a packet socket, which is slower than XDP, because " + why
}

// byGenericXDP describes how a port receives whose driver refused native XDP.
func byGenericXDP(driver string, why error) string {
	return fmt.Sprintf("by generic XDP, which is slower, because the driver %s refused native XDP: %v", driver, why)
}
