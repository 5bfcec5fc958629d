package sim

import (
	"maps"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// variation lets a device differ from trial to trial, around what its model says.
type variation struct {
	// ppm is the largest difference from the model, in parts per million of its figures; 0 for
	// none.
	ppm int64
	// rows are the behaviors by the model.
	rows map[int]row
}

// WithVariation lets latency, buffer and route delay of the device differ from trial to trial by
// up to so many parts per million, evenly to both sides: the model has their medians. The seed
// of the noise determines how (WithSeed).
func WithVariation(ppm int64) Option { return func(e *Engine) { e.variation.ppm = ppm } }

// kinds of figures that vary independently.
const (
	variesLatency = iota + 1
	variesBuffer
	variesDelay
)

// vary chooses the figures of the device for the trial that begins.
func (e *Engine) vary() {
	if e.variation.ppm == 0 {
		return
	}
	rows := maps.Clone(e.variation.rows)
	for size, r := range rows {
		for _, ns := range []*uint64{&r.latencyMin, &r.latencyAvg, &r.latencyMax} {
			*ns = e.varied(*ns, variesLatency)
		}
		r.buffer = e.varied(r.buffer, variesBuffer)
		rows[size] = r
	}
	e.run.handling.rows = rows
	e.run.handling.row = rows[e.run.streams[0].FrameSize]
	if d := e.dut.behaviour.RouteDelay; d != nil {
		e.dut.rib.limits.RouteDelay = &metav1.Duration{Duration: time.Duration(e.varied(uint64(d.Duration), variesDelay))}
	}
}

// varied returns a figure of the model as it is in the trial of this number.
func (e *Engine) varied(n uint64, kind uint64) uint64 {
	random := rand.New(rand.NewPCG(e.run.handling.seed^kind<<32, e.run.handling.number))
	off := random.Int64N(2*e.variation.ppm+1) - e.variation.ppm
	return mulDiv(n, uint64(whole+off), uint64(whole))
}
