package xdp

import (
	"errors"
	"time"

	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// userBatch is the largest number of frames that user space sends at once.
const userBatch = 64

// userSender sends the frames of a lane from user space: through a packet socket or
// through an AF_XDP socket.
type userSender interface {
	// room returns the number of frames that can be sent now.
	room() (int, error)
	// send numbers, writes and sends frames that there is room for. It counts those that
	// left, and gives those that the device refused back to the lane.
	send(frames []kernel.PortTxFrame) error
	// finish ends sending. Frames that have a number and did not leave give it back.
	finish() error
	// quantum returns the shortest time between two wake-ups: frames that are due within
	// it leave together.
	quantum() time.Duration
	close() error
}

// sendFrames sends the frames of a lane from user space until all are sent, the
// deadline has passed or the sender is stopped.
func (s *sender) sendFrames(l *lane) error {
	l.begin = s.begin
	if err := errors.Join(s.sendDue(l), l.user.finish()); err != nil {
		return l.failed(err)
	}
	return nil
}

func (s *sender) sendDue(l *lane) error {
	frames := make([]kernel.PortTxFrame, 0, userBatch)
	var last int64
	for !s.stopping.Load() {
		now := monotonic() - s.begin
		if now >= s.deadline() {
			return nil
		}
		room, err := l.user.room()
		if err != nil {
			return err
		}
		if room == 0 {
			time.Sleep(fullPause)
			continue
		}
		frames = frames[:0]
		for now >= 0 && len(frames) < min(room, userBatch) {
			f, ok := l.take(uint64(now))
			if !ok {
				break
			}
			frames = append(frames, f)
		}
		if len(frames) > 0 {
			last = now
			if err := l.user.send(frames); err != nil {
				return err
			}
			continue
		}
		due, more := l.next()
		if !more {
			return nil
		}
		s.sleepUntil(min(max(int64(min(due, 1<<62)), last+int64(l.user.quantum())), s.deadline()))
	}
	return nil
}

// fullPause is the time for which user space waits for a device whose ring is full.
const fullPause = 50 * time.Microsecond

// makeBodies prepares the bodies that writeFrame writes.
func (l *lane) makeBodies() {
	l.bodies = nil
	for _, b := range l.port.send.bodies {
		l.bodies = append(l.bodies, b.Bytes())
	}
}

// writeFrame writes a frame at the beginning of b, and returns its length. The number of
// the frame is the next one of its stream.
func (l *lane) writeFrame(f kernel.PortTxFrame, b []byte) int {
	t := &l.streams[f.Slot]
	if t.BodyAt > 0 {
		copy(b[t.BodyAt:t.Len], l.bodies[t.Body])
	}
	l.write(f, b[:t.Len], uint64(monotonic()))
	return int(t.Len)
}
