package method

import (
	"context"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// shaken is a fake generator whose link goes down in some of its trials, so that
// they lose a frame.
type shaken struct {
	traffic.Generator
	trials int
	when   func(trial int, framesPerSecond uint64) bool
}

func (s *shaken) Read(ctx context.Context) (traffic.Measurement, error) {
	m, err := s.Generator.Read(ctx)
	if tx := m.Tx[0]; m.TxTime >= time.Second { // not while learning
		if s.trials++; s.when(s.trials, tx.Sent/uint64(m.TxTime/time.Second)) {
			key := traffic.RxKey{Stream: 0, Port: "p2"}
			rx := m.Rx[key]
			rx.Received--
			m.Rx[key] = rx
			m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteCounter, Text: "the link of p2 went down"})
		}
	}
	return m, err
}

// One trial in which a link went down is void and run again: the device is found
// as it is.
func TestADisturbedTrialIsVoid(t *testing.T) {
	p := testPlan(t)
	gen := &shaken{Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p), when: func(n int, _ uint64) bool { return n%4 == 1 }}
	out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
	if out.LoadPPM != 333_333 || out.Limit != nil || out.Trial.Disturbed() {
		t.Errorf("found %d ppm with the limit %+v, want the device's 333333", out.LoadPPM, out.Limit)
	}
}

// A link that goes down again and again above a load is not the device's limit
// without doubt: the trial that ended the search is kept, for the verdict.
func TestASearchThatADisturbanceEnded(t *testing.T) {
	p := testPlan(t)
	// 20 % of 10G in frames of 64 bytes are 2.98 million frames/s.
	gen := &shaken{Generator: simulate(t, header+"\n64,33.3333,1,2,3\n", p), when: func(_ int, rate uint64) bool { return rate > 3_000_000 }}
	out := mustRun(t, open(t, gen, p, nil), p.Steps[0])
	if out.LoadPPM >= 333_333 || out.Limit == nil || !out.Limit.Disturbed() || out.Limit.LoadPPM != out.Bracket.FailedPPM {
		t.Errorf("found %d ppm with the limit %+v, want one that the disturbance is told of", out.LoadPPM, out.Limit)
	}
}
