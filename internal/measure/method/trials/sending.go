package trials

import (
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
)

// Sending contains the load that a trial asked for, and what the tester sent of it.
type Sending struct {
	// LoadPPM is the intended load in parts per million of line rate.
	LoadPPM int64
	// Duration that was asked for, and TxTime that sending really took.
	Duration, TxTime time.Duration
	// Ended is after how long the trial was ended since it could not pass any more; 0
	// when it was not. Intended is then what the load asked for until it was ended.
	Ended time.Duration
	// Intended frames, and those that were Sent.
	Intended, Sent uint64
	// CardUnsent are the frames that the tester counted as sent and its cards did not send:
	// they are not among those Sent.
	CardUnsent uint64

	// tolerance is the maximum by which sending may exceed Duration. Up to exact, the
	// offered load counts as the intended one.
	tolerance, exact time.Duration
}

// Unsent reports whether the tester offered less than intended: fewer frames, or the
// same in a longer time (RFC 2285 section 3.5). A trial in which nothing was to
// be sent is one too.
func (s *Sending) Unsent() bool {
	return s.Sent == 0 || s.Sent < s.Intended || s.TxTime > s.Duration+s.tolerance
}

// EndedLate reports whether all frames were sent, but the engine needed so much longer than
// asked for that the load was another one to the search: the offered load.
func (s *Sending) EndedLate() bool {
	return !s.Unsent() && s.TxTime > s.Duration+s.exact
}

// OfferedPPM is the load that was offered in parts per million of line rate, rounded
// down.
func (s *Sending) OfferedPPM() int64 {
	if s.Intended == 0 || s.Duration <= 0 {
		return 0
	}
	intended := new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Intended), big.NewInt(int64(s.Duration)))
	share := new(big.Rat).Quo(s.OfferedRate(), intended.Mul(intended, big.NewRat(int64(time.Second), 1)))
	share.Mul(share, big.NewRat(s.LoadPPM, 1))
	return min(s.LoadPPM, new(big.Int).Quo(share.Num(), share.Denom()).Int64())
}

// CountedPPM returns the load that counts for the trial: the intended one, or the offered one if that
// is lower by more than a thousandth.
func (s *Sending) CountedPPM() int64 {
	if offered := s.OfferedPPM(); offered < s.LoadPPM-s.LoadPPM/1000 {
		return offered
	}
	return s.LoadPPM
}

// OfferedRate is the exact rate in frames/s at which frames left the tester.
func (s *Sending) OfferedRate() *big.Rat {
	// The last frame leaves at the beginning of its share of the time.
	took := max(s.Duration, s.TxTime)
	if s.Ended > 0 {
		took = s.TxTime
	}
	if took <= 0 {
		return new(big.Rat)
	}
	sent := new(big.Int).Mul(new(big.Int).SetUint64(s.Sent), big.NewInt(int64(time.Second)))
	return new(big.Rat).SetFrac(sent, big.NewInt(int64(took)))
}

// Offered returns the part of an intended rate that left the tester: less if it did not send
// all frames, or took longer than the trial. Frames with many receivers may count once in
// the rate or at each of them.
func (s *Sending) Offered(intended *big.Rat) *big.Rat {
	if s.Intended == 0 {
		return new(big.Rat)
	}
	share := new(big.Rat).SetFrac(new(big.Int).SetUint64(s.Sent), new(big.Int).SetUint64(s.Intended))
	return s.stretched(share.Mul(share, intended))
}

// stretched returns a rate, reduced if sending took longer than the trial. The last frame leaves at
// the beginning of its share of the time.
func (s *Sending) stretched(rate *big.Rat) *big.Rat {
	if s.Ended == 0 && s.TxTime > s.Duration && s.Duration > 0 {
		rate.Mul(rate, big.NewRat(int64(s.Duration), int64(s.TxTime)))
	}
	return rate
}

// Stretched returns the real duration of a part of the trial that takes d at the intended load. It is
// longer if sending took longer than the trial.
func (s *Sending) Stretched(d time.Duration) time.Duration {
	if s.Ended > 0 || s.TxTime <= s.Duration || s.Duration <= 0 {
		return d
	}
	return time.Duration(float64(d) * float64(s.TxTime) / float64(s.Duration))
}

// PerSecond is a number of frames over the time that sending took, in frames/s.
func (s *Sending) PerSecond(frames int64) int64 { return PerSecond(frames, s.took()) }

// took is the time that sending took, at least the intended one.
func (s *Sending) took() time.Duration { return max(s.Duration, s.TxTime) }

// LateTolerance returns by how much sending may exceed its intended duration in a trial that
// is not part of a search: 1 %, but 10 to 100 ms, within which a busy machine makes up for
// the last burst. Rows of such trials contain the offered load and the intended one.
func LateTolerance(d time.Duration) time.Duration {
	return min(max(d/100, 10*time.Millisecond), 100*time.Millisecond)
}

// searchTolerance returns by how much sending may exceed d in a trial of a search. Up to
// exact, the offered load is within half the search's resolution of the intended one, and
// within 1 % of it. An engine that is late by itself may take longer, up to most: the row
// then contains the offered load.
func searchTolerance(step plan.Step, ppm int64, d, lateness time.Duration) (exact, most time.Duration) {
	resolution := step.Search.ResolutionPPM
	for _, g := range step.Goals {
		if g.WidthPPM > 0 {
			resolution = min(resolution, g.WidthPPM)
		}
	}
	// Half the resolution as a share of the load; no product exceeds 64 bits in trials
	// of a hundred hours.
	half := time.Duration(int64(d/time.Microsecond)*resolution/(2*ppm)) * time.Microsecond
	exact = min(half, d/100)
	return exact, max(exact, lateness)
}
