package telemetry

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Meter reads the electrical power of a device. It is used from one goroutine at a time.
type Meter interface {
	// Power returns the power now, in mW. It ends with the context, and connects anew after an error.
	Power(ctx context.Context) (milliwatts int64, err error)
	// Close gives the connection back.
	Close()
}

// PowerSwitch takes the power of a device away. It may be used by several goroutines.
type PowerSwitch interface {
	// Cycle turns the power off, and returns when that is done. It is turned on again after a while, whatever becomes of the
	// context and of the caller. It fails if the power is off already.
	Cycle(ctx context.Context, off time.Duration) error
	// On turns the power on, as far as it is off.
	On(ctx context.Context) error
	// Close turns the power on, as far as Cycle turned it off, and gives the connection back.
	Close()
}

// idleReadings is the number of readings without test frames.
const idleReadings = 10

// PowerWatch reads a meter while trials run, one after the other.
type PowerWatch struct {
	meter Meter
	spec  *v1alpha1.PowerMeter

	// follow gets each reading; it may be nil.
	follow Follow
	// stop ends the readings of a trial; nil while none runs.
	stop  context.CancelFunc
	ended sync.WaitGroup
	trial powers
}

// NewPowerWatch returns a watch. It owns the meter.
func NewPowerWatch(meter Meter, spec *v1alpha1.PowerMeter) *PowerWatch {
	return &PowerWatch{meter: meter, spec: spec}
}

// Follow has each reading reported from now on.
func (w *PowerWatch) Follow(f Follow) { w.follow = f }

// powers are readings in mW.
type powers struct {
	sum, lowest, highest int64
	readings             int64
	// first is the first reading, and squares is the sum of the squares of the distances from it.
	first   int64
	squares float64
	// failure is the first error of the meter.
	failure error
}

func (p *powers) add(milliwatts int64) {
	if p.readings == 0 {
		p.first, p.lowest = milliwatts, milliwatts
	}
	away := float64(milliwatts - p.first)
	p.squares += away * away
	p.lowest = min(p.lowest, milliwatts)
	p.highest = max(p.highest, milliwatts)
	p.sum, p.readings = p.sum+milliwatts, p.readings+1
}

// reading returns the mean, or why there is none.
func (p *powers) reading(spec *v1alpha1.PowerMeter) (*v1alpha1.PowerReading, error) {
	if p.readings == 0 {
		if p.failure != nil {
			return nil, errors.New("the meter could not be read: " + textWithout(spec.Address(), p.failure))
		}
		return nil, errors.New("the time was too short for a reading of the meter")
	}
	mean := (p.sum + p.readings/2) / p.readings
	return &v1alpha1.PowerReading{
		MeanMilliwatts: mean, MinimumMilliwatts: p.lowest, MaximumMilliwatts: p.highest, Readings: int32(min(p.readings, 1<<30)),
		AccuracyMilliwatts: spec.Constant() + mean*spec.Growing()/v1alpha1.PPM, ScatterMilliwatts: p.scatter(),
	}, nil
}

// student has the factors of Student's t distribution for two-sided intervals of 95 %, by degrees of freedom from 1 on.
var student = []float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
}

// manyDegrees is the factor of at least 61 degrees of freedom; the one of the end of the table is larger than all between.
const manyDegrees = 2.000

// scatter returns by how much the mean may be off because the readings differ, in mW: half of the interval that contains it with 95 %.
func (p *powers) scatter() int64 {
	if p.readings < 2 {
		return 0
	}
	n, away := float64(p.readings), float64(p.sum-p.readings*p.first)
	variance := max(0, p.squares-away*away/n) / (n - 1)
	factor := student[min(p.readings-1, int64(len(student)))-1]
	if p.readings > 61 {
		factor = manyDegrees
	}
	return int64(math.Round(factor * math.Sqrt(variance/n)))
}

// Idle reads the meter some times while no test frames are sent. It takes the time that the meter needs to settle, and ten intervals.
func (w *PowerWatch) Idle(ctx context.Context) (*v1alpha1.PowerReading, error) {
	every := w.spec.Every()
	p := w.read(ctx, w.spec.Settling(), w.spec.Settling()+idleReadings*every)
	return p.reading(w.spec)
}

// read reads the meter at each interval from a time after now to another one. An error leaves a reading out.
func (w *PowerWatch) read(ctx context.Context, from, to time.Duration) (p powers) {
	began := time.Now()
	next := time.NewTimer(from)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return p
		}
		within, cancel := context.WithTimeout(ctx, readTimeout)
		milliwatts, err := w.meter.Power(within)
		cancel()
		if err == nil && w.follow != nil {
			w.follow(time.Now(), []Sample{{"power", "W", milliwatts}})
		}
		switch late := time.Since(began) > to; {
		case err == nil && !late: // What is read after the end of the trial may be of less load.
			p.add(milliwatts)
		case ctx.Err() != nil || late:
			return p
		case p.failure == nil:
			p.failure = err
		}
		next.Reset(w.spec.Every())
	}
}

// Begin begins a trial whose sending takes a time.
func (w *PowerWatch) Begin(takes time.Duration) {
	w.abandon()
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.trial = stop, powers{}
	w.ended.Go(func() { w.trial = w.read(ctx, w.spec.Settling(), takes) })
}

// End ends the trial, and returns its power.
func (w *PowerWatch) End() (*v1alpha1.PowerReading, error) {
	if w.stop == nil {
		return nil, errors.New("no trial has begun")
	}
	w.abandon()
	return w.trial.reading(w.spec)
}

// abandon ends the readings of a trial.
func (w *PowerWatch) abandon() {
	if w.stop != nil {
		w.stop()
		w.ended.Wait()
		w.stop = nil
	}
}

// Close ends the watch.
func (w *PowerWatch) Close() {
	w.abandon()
	w.meter.Close()
}
