package runner

import (
	"context"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
)

// power follows the power of the device through the trials of rows. Nil where no meter is read.
type power struct {
	meter PowerMeter
	// idle is the power without test frames, or failure why it is not known; measured reports whether it was asked for.
	idle     *v1alpha1.PowerReading
	failure  error
	measured bool
	// running reports whether a trial is in hand.
	running bool
	// of has the powers of the trials of the row.
	of map[*trials.Trial]powerOf
}

// powerOf is the power of a trial, or why it is not known.
type powerOf struct {
	reading *v1alpha1.PowerReading
	err     error
}

// begin begins a row. Before the first one it measures the device without test frames.
func (p *power) begin(ctx context.Context) {
	if p == nil {
		return
	}
	if !p.measured {
		p.idle, p.failure = p.meter.Idle(ctx)
		p.measured = true
	}
	p.of = map[*trials.Trial]powerOf{}
}

// follow reads the meter in each trial.
func (p *power) follow(e trials.Event) {
	switch {
	case p == nil:
	case e.Finished != nil && p.running:
		p.running = false
		reading, err := p.meter.End()
		p.of[e.Finished] = powerOf{reading, err}
	case e.Finished == nil && e.Failure == nil && e.Ask == "" && e.Duration > 0:
		p.running = true
		p.meter.Begin(e.Duration)
	}
}

// maxPowerMessage bounds the text of a device in a row, in bytes.
const maxPowerMessage = 1024

// fill adds the power of its deciding trial to a row.
func (p *power) fill(row *v1alpha1.ResultRow, out trials.Outcome, meter *v1alpha1.PowerMeter, before []v1alpha1.ResultRow) {
	if p == nil || meter == nil || out.Trial == nil {
		return
	}
	found, known := p.of[out.Trial]
	if !known {
		return // The trial is one of another row.
	}
	r := v1alpha1.RowPower{Trial: found.reading, Idle: p.idle}
	var why []string
	if found.err != nil {
		why = append(why, "power: "+found.err.Error())
	}
	if p.failure != nil && (found.err == nil || p.failure.Error() != found.err.Error()) {
		why = append(why, "power without test frames: "+p.failure.Error())
	}
	r.Message = human.Cut(strings.Join(why, "; "), maxPowerMessage)
	row.Power = result.Power(r, out.Step.Size, out.Trial.ForwardingRate, before, meter)
}
