package traffic

import (
	"cmp"
	"context"
	"slices"
)

// MicroflowCounter is implemented by engines that count the frames of each microflow of the
// streams with Track. The counts belong to the last trial. They are read after sending has
// ended and frames have settled, as by Read.
type MicroflowCounter interface {
	// Microflows calls take with the records of the microflows of a stream at a port, in their
	// order and in parts. A part is valid during the call. It ends with the error of take. It
	// may be called while Wait runs: the records then contain the frames that have arrived.
	Microflows(ctx context.Context, key RxKey, take func(MicroflowPart) error) error
	// SumMicroflows compares the records with what was sent, for each stream with Track and
	// each of its receiving ports that the engine owns, in the order of streams and ports.
	// sent is the Tx of the trial's Measurement, of all engines. The sums list the first most
	// bad microflows, of all sums together.
	SumMicroflows(ctx context.Context, sent map[uint16]TxCount, most int) ([]MicroflowSum, error)
}

// MicroflowRecord contains the frames of a microflow that a port received: 8 bytes.
type MicroflowRecord struct {
	// Received frames without copies, modulo 2^32.
	Received uint32
	// Last is one above the place in the stream of the frame that was received last, at most
	// 2^32-1; 0 if none was received.
	Last uint32
}

// MicroflowPart contains the records of some microflows of a stream at a port.
type MicroflowPart struct {
	// First is the number of the first microflow, from 0.
	First uint64
	// Records of the microflows from First on.
	Records []MicroflowRecord
	// FirstNs are the times at which the first frame of each arrived, in nanoseconds of the
	// clock of the port's host, as in Moments; 0 without a frame. Nil without TrackTimes.
	FirstNs []uint64
}

// MicroflowSum sums up the microflows of a stream at a port. Microflows of which nothing was sent are
// left out.
type MicroflowSum struct {
	RxKey
	// Tracked is the number of microflows of which a frame was sent: the sum of Complete, of
	// which every sent frame was received, Lossy, of which some were lost, and Silent, of
	// which all were lost.
	Tracked, Complete, Lossy, Silent uint64
	// Unsent is the number of microflows of which no frame was sent.
	Unsent uint64
	// Lost frames of all of them.
	Lost uint64
	// Least and Most are the fewest and the most frames received of a microflow.
	Least, Most uint64
	// Bad are the first lossy and silent ones, by their number.
	Bad []BadMicroflow
}

// BadMicroflow is a microflow of which frames were lost.
type BadMicroflow struct {
	// Number of the microflow in its stream; see Headers.Microflow.
	Number uint64
	// Sent and Received frames.
	Sent, Received uint64
}

// SentPlaces describes which places of a stream were sent: 0 up to below Frames, or one less
// and the place Ahead if that is not 0.
type SentPlaces struct{ Frames, Ahead uint64 }

// Of returns the number of frames that were sent of a microflow, of a stream with a number of
// microflows.
func (p SentPlaces) Of(number, microflows uint64) uint64 { return p.over(microflows).of(number) }

// turns are the sent places over a number of microflows: each had a frame in every turn, those
// below rest one more, and so had ahead.
type turns struct{ turns, rest, ahead uint64 }

func (p SentPlaces) over(microflows uint64) turns {
	if p.Ahead == 0 || p.Frames == 0 {
		return turns{p.Frames / microflows, p.Frames % microflows, microflows}
	}
	return turns{(p.Frames - 1) / microflows, (p.Frames - 1) % microflows, p.Ahead % microflows}
}

func (t turns) of(number uint64) uint64 {
	n := t.turns
	if number < t.rest {
		n++
	}
	if number == t.ahead {
		n++
	}
	return n
}

// Add adds the records of the microflows from first on, of a stream with a number of
// microflows, of which those places were sent. Up to most bad ones are listed.
func (s *MicroflowSum) Add(sent SentPlaces, microflows, first uint64, records []MicroflowRecord, most int) {
	each := sent.over(microflows)
	for i, r := range records {
		number := first + uint64(i)
		n := each.of(number)
		if n == 0 {
			s.Unsent++
			continue
		}
		// The counts agree modulo 2^32.
		lost := uint64(uint32(n) - r.Received)
		if r.Last == 0 {
			lost = n
		}
		received := n - min(lost, n)
		if s.Tracked == 0 || received < s.Least {
			s.Least = received
		}
		s.Most = max(s.Most, received)
		s.Tracked++
		switch {
		case lost == 0:
			s.Complete++
			continue
		case received == 0:
			s.Silent++
		default:
			s.Lossy++
		}
		s.Lost += n - received
		if len(s.Bad) < most {
			s.Bad = append(s.Bad, BadMicroflow{Number: number, Sent: n, Received: received})
		}
	}
}

// JoinMicroflowSums joins the sums of several engines in the order of streams and ports, with the
// first most bad microflows.
func JoinMicroflowSums(most int, parts ...[]MicroflowSum) []MicroflowSum {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b MicroflowSum) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Port, b.Port))
	})
	for i := range all {
		all[i].Bad = all[i].Bad[:min(most, len(all[i].Bad))]
		most -= len(all[i].Bad)
	}
	return all
}
