package kernelstack

import (
	"encoding/binary"
	"net/netip"

	"nodrop.dev/nodrop/internal/workload"
)

// summarize counts the connections by their ends.
func (run *connections) summarize(out *workload.Connections) {
	for n := range run.request.Connections {
		c := run.clients[n%len(run.clients)]
		one := &c.all[n/len(run.clients)]
		out.Attempted++
		if one.established {
			out.Established++
			out.SetUps = append(out.SetUps, one.setUp)
		}
		counter, what := counterOf(out, one.outcome)
		*counter++
		if one.outcome != closed && one.outcome != open && *counter == 1 {
			text := c.name(one) + " " + what
			if one.note != "" {
				text += ": " + one.note
			}
			out.Examples = append(out.Examples, text)
		}
	}
	out.Verified += out.Closed + out.CloseReset + out.CloseTimedOut
}

// counterOf returns the counter of an end, and describes it.
func counterOf(out *workload.Connections, how outcome) (*int64, string) {
	switch how {
	case refused:
		return &out.Refused, "was refused"
	case timedOut:
		return &out.TimedOut, "was not established in time"
	case reset:
		return &out.Reset, "ended before it was closed"
	case unanswered:
		return &out.Unanswered, "had no answer in time"
	case wrong:
		return &out.Wrong, "had a wrong answer"
	case closeReset:
		return &out.CloseReset, "was reset while it was closed"
	case closeTimedOut:
		return &out.CloseTimedOut, "was not closed in time"
	case open:
		return &out.Verified, "is open"
	}
	return &out.Closed, "was closed"
}

// message is a request or its answer.
type message struct {
	run          uint64
	turn, number uint32
	// first is the number of the first request on the connection, and server the address of the server, in answers.
	first  uint32
	server netip.Addr
}

// messageBytes is the length of requests and answers.
const messageBytes = 24

func (m message) put(b []byte) {
	binary.BigEndian.PutUint64(b, m.run)
	binary.BigEndian.PutUint32(b[8:], m.turn)
	binary.BigEndian.PutUint32(b[12:], m.number)
	binary.BigEndian.PutUint32(b[16:], m.first)
	if m.server.Is4() {
		copy(b[20:], m.server.AsSlice())
	}
}

func take(b []byte) message {
	return message{
		run: binary.BigEndian.Uint64(b), turn: binary.BigEndian.Uint32(b[8:]), number: binary.BigEndian.Uint32(b[12:]),
		first: binary.BigEndian.Uint32(b[16:]), server: netip.AddrFrom4([4]byte(b[20:24])),
	}
}
