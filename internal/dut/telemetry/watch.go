package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
)

const (
	// readTimeout bounds one reading.
	readTimeout = 10 * time.Second
	// attempts is the number of times that the device is read at the ends of a row.
	attempts = 3
	// maxCounters and maxSensors are the numbers of counters and sensors that a row keeps, and maxModules that of
	// modules in a result.
	maxCounters, maxSensors, maxModules = 32, 64, 64
)

// Watch reads a device while rows are measured, one after the other.
type Watch struct {
	reader Reader
	// every is the interval of readings, and delay how late counters may be.
	every, delay time.Duration
	// address of the device, which results do not have.
	address string

	// follow gets each reading, and last is the one before; both may be nil.
	follow Follow
	last   *Reading
	// facts of the device; nil until it has answered.
	facts            *v1alpha1.DeviceFacts
	before           *Reading
	failure          error
	readings, failed int32
	sensors          map[string]*sum
	stop             func()
}

// sum sums a sensor up.
type sum struct {
	unit           string
	total, highest float64
	readings       int
}

// NewWatch returns a watch. It owns the reader.
func NewWatch(reader Reader, t *v1alpha1.DeviceTelemetry) *Watch {
	return &Watch{reader: reader, every: t.Every(), delay: t.Delay(), address: t.Address()}
}

// Follow has each reading reported from now on.
func (w *Watch) Follow(f Follow) { w.follow = f }

// textWithout returns an error without the address of a device: how the lab reaches its devices is not for customers.
func textWithout(address string, err error) string {
	text := err.Error()
	host, _, _ := net.SplitHostPort(address)
	for _, hidden := range []string{address, host} {
		if hidden != "" {
			text = strings.ReplaceAll(text, hidden, "(hidden)")
		}
	}
	return text
}

// Facts returns what the device is; nil if it does not answer.
func (w *Watch) Facts(ctx context.Context) *v1alpha1.DeviceFacts {
	for range attempts {
		if w.facts != nil || ctx.Err() != nil {
			break
		}
		within, cancel := context.WithTimeout(ctx, readTimeout)
		f, err := w.reader.Facts(within)
		cancel()
		if err != nil {
			continue
		}
		w.facts = &v1alpha1.DeviceFacts{
			Description: human.Cut(f.Description, maxName), Model: human.Cut(f.Model, maxName), Software: human.Cut(f.Software, maxName),
			SerialNumber: human.Cut(f.SerialNumber, maxName), UpSeconds: int64(f.Up / time.Second),
			BootReason: human.Cut(f.BootReason, maxName),
		}
		for _, m := range f.Modules[:min(len(f.Modules), maxModules)] {
			w.facts.Modules = append(w.facts.Modules, human.Cut(m, maxName))
		}
	}
	return w.facts.DeepCopy()
}

// Begin begins a row.
func (w *Watch) Begin(ctx context.Context) {
	w.readings, w.failed, w.sensors = 0, 0, map[string]*sum{}
	w.before, w.failure = w.read(ctx, attempts)
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(w.every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = w.read(ctx, 1)
			case <-ctx.Done():
				return
			}
		}
	})
	w.stop = func() {
		cancel()
		ended.Wait()
	}
}

// End ends a row in whose trials frames were lost, and returns what the device reported since Begin.
func (w *Watch) End(ctx context.Context, lost uint64) *v1alpha1.DeviceReadings {
	w.stop()
	late := time.NewTimer(w.delay)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
	now, err := w.read(ctx, attempts)
	out := &v1alpha1.DeviceReadings{Lost: clamp(lost), Sensors: w.summary(), Readings: w.readings, Failed: w.failed}
	switch err := cmp.Or(w.failure, err); {
	case err != nil:
		out.Message = "the counters of the device are not known: " + textWithout(w.address, err)
	case now.Up < w.before.Up:
		out.Message = "the counters of the device are not known: it has restarted"
	default:
		w.compare(out, now)
	}
	out.Message = human.Cut(out.Message, maxMessage)
	return out
}

// compare sets the counters that have grown.
func (w *Watch) compare(out *v1alpha1.DeviceReadings, now *Reading) {
	for _, name := range slices.Sorted(maps.Keys(now.Counters)) {
		if grown := clamp(now.Counters[name].Since(w.before.Counters[name])); grown > 0 {
			out.Counters = append(out.Counters, v1alpha1.DeviceCounter{Name: name, Frames: grown})
			out.Counted += grown
		}
	}
	slices.SortStableFunc(out.Counters, func(a, b v1alpha1.DeviceCounter) int { return cmp.Compare(b.Frames, a.Frames) })
	out.Counters = out.Counters[:min(len(out.Counters), maxCounters)]
	out.Unexplained = new(max(0, out.Lost-out.Counted))
	switch {
	case len(now.Counters) == 0:
		out.Unexplained, out.Message = nil, "the device reports no counters of dropped frames for these interfaces"
	case out.Counted > out.Lost:
		out.Message = fmt.Sprintf("the device counted %d frames more than were lost in the trials: it drops other frames as well, such as learning frames, or counts some twice", out.Counted-out.Lost)
	}
}

// read reads the device until it answers, at most some times.
func (w *Watch) read(ctx context.Context, times int) (r *Reading, err error) {
	for range times {
		within, cancel := context.WithTimeout(ctx, readTimeout)
		r, err = w.reader.Read(within)
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // The device did not fail.
		}
		w.readings++
		if err == nil {
			break
		}
		w.failed++
	}
	if err != nil {
		return nil, err
	}
	if w.follow != nil {
		w.follow(time.Now(), r.samples(w.last))
	}
	w.last = r
	for name, s := range r.Sensors {
		total := w.sensors[name]
		if total == nil {
			total = &sum{unit: s.Unit, highest: s.Value}
			w.sensors[name] = total
		}
		total.total, total.highest, total.readings = total.total+s.Value, max(total.highest, s.Value), total.readings+1
	}
	return r, nil
}

// summary returns the sensors by their names.
func (w *Watch) summary() (out []v1alpha1.DeviceSensor) {
	for _, name := range slices.Sorted(maps.Keys(w.sensors)) {
		s := w.sensors[name]
		out = append(out, v1alpha1.DeviceSensor{
			Name: name, Unit: s.unit,
			MeanThousandths: thousandths(s.total / float64(s.readings)), MaximumThousandths: thousandths(s.highest),
		})
	}
	return out[:min(len(out), maxSensors)]
}

func thousandths(v float64) int64 { return int64(math.Round(1000 * v)) }

func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Close ends the watch.
func (w *Watch) Close() { w.reader.Close() }
