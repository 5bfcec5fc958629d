package trials

import (
	"math/big"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// forwarded contains the frames that arrived at each port, and when the first and the last one
// did, in nanoseconds of the port's clock. The times are 0 if the engine does not know them.
type forwarded []struct{ frames, first, last uint64 }

// add adds the frames of a stream at a port, of which so many arrived there or by a further path.
func (f forwarded) add(port int, rx traffic.RxCount, arrived uint64) {
	p := &f[port]
	p.frames += arrived
	if rx.Received > 0 && (p.first == 0 || rx.FirstNs < p.first) {
		p.first = rx.FirstNs
	}
	p.last = max(p.last, rx.LastNs)
}

// rate returns the sum of the rates of the ports in frames/s. The frames of a port count over the
// time in which they arrived, which is at least the time that sending took.
func (f forwarded) rate(sending time.Duration) int64 {
	sum := new(big.Rat)
	for _, p := range f {
		took := max(sending, time.Duration(p.last-p.first))
		sum.Add(sum, new(big.Rat).SetFrac(new(big.Int).SetUint64(p.frames), big.NewInt(int64(took))))
	}
	return frame.Round(sum.Mul(sum, big.NewRat(int64(time.Second), 1)))
}
