package traffic

import "time"

// Capture sets which received frames of a trial an engine keeps for inspection.
type Capture struct {
	// Frames of each kind that each port keeps; 0 keeps none.
	Frames int
	// Bytes of each frame that are kept, its first ones.
	Bytes int
}

// CaptureKind is the reason why a frame was kept.
type CaptureKind string

const (
	// CaptureFirst is a frame that was received first in its trial.
	CaptureFirst CaptureKind = "first of the trial"
	// CaptureDamaged is a frame that did not come back as it was sent.
	CaptureDamaged CaptureKind = "damaged"
	// CaptureBeforeGap is the frame of a stream after which others are missing. Those may
	// have come later.
	CaptureBeforeGap CaptureKind = "before a gap"
	// CaptureAfterGap is the frame of a stream before which others are missing.
	CaptureAfterGap CaptureKind = "after a gap"
)

// CapturedFrame is a received frame, as far as it was kept.
type CapturedFrame struct {
	// Port that received it, by its name in the bed, and Time when.
	Port string
	Time time.Time
	// Kinds are why it was kept.
	Kinds []CaptureKind
	// Stream and Sequence as the frame says them. Of a damaged one they may be wrong.
	Stream   uint16
	Sequence uint64
	// Missing is the number of sequence numbers of the stream that were missing when the
	// frame after a gap arrived.
	Missing uint64
	// Damage describes what is wrong with a damaged frame; empty for other frames.
	Damage string
	// Length of the frame in bytes without FCS, and its first bytes.
	Length int
	Data   []byte
}
