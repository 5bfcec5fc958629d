package xdp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// fallback is a way in which ports sent or received without the XDP of their drivers.
type fallback struct {
	way   string
	ports []string
	// clump and lag are the largest of the ports that sent this way.
	clump uint64
	lag   time.Duration
}

// fallbacks returns a note for each way in which ports did not use the XDP of their drivers
// in the trial. Ports with the same way share a note, since a row's message is bounded.
func (t *trial) fallbacks(ports []*port) []traffic.Note {
	var sent, received []fallback
	for _, p := range ports {
		for _, s := range t.senders {
			for _, l := range s.lanes {
				if _, zeroCopy := l.user.(*zeroCopySender); l.port == p && l.user != nil && !zeroCopy {
					way, _ := p.send.userPath()
					f := addFallback(&sent, way, p.Name)
					f.clump, f.lag = max(f.clump, l.tx.Clump), max(f.lag, time.Duration(l.tx.Lag))
				}
			}
		}
		if p.receive.attached.generic != "" && len(p.receive.streams) > 0 {
			addFallback(&received, p.receive.attached.generic, p.Name)
		}
	}
	var notes []traffic.Note
	for _, f := range sent {
		notes = append(notes, traffic.Note{Kind: traffic.NoteFallback, Text: fmt.Sprintf(
			"frames of %s were sent %s, in bursts of up to %s frames and up to %v behind their schedule",
			portList(f.ports), f.way, traffic.Grouped(f.clump), f.lag.Round(time.Microsecond))})
	}
	for _, f := range received {
		notes = append(notes, traffic.Note{Kind: traffic.NoteFallback, Text: fmt.Sprintf("frames of %s were received %s", portList(f.ports), f.way)})
	}
	return notes
}

// addFallback adds a port to the fallback with a way, and returns it.
func addFallback(to *[]fallback, way, port string) *fallback {
	i := slices.IndexFunc(*to, func(f fallback) bool { return f.way == way })
	if i < 0 {
		i = len(*to)
		*to = append(*to, fallback{way: way})
	}
	(*to)[i].ports = append((*to)[i].ports, port)
	return &(*to)[i]
}

// portList names ports, and counts those beyond the eighth.
func portList(names []string) string {
	const most = 8
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more ports", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// throughPacketSocket describes how a port sends that cannot send by XDP.
func throughPacketSocket(why string) string {
	return "through a packet socket, which is slower than XDP, because " + why
}

// byGenericXDP describes how a port receives whose driver refused native XDP.
func byGenericXDP(driver string, why error) string {
	return fmt.Sprintf("by generic XDP, which is slower, because the driver %s refused native XDP: %v", driver, why)
}
