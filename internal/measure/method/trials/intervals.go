package trials

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

// Interval contains the activity of the ports of the bed between two samples of a trial.
type Interval struct {
	// Event identifies the trial, with its step, load and duration.
	Event Event
	// Began is the time at which sending began, by the clock of the generator.
	Began time.Time
	// At is the end of the interval, from the beginning of sending. Length is its duration:
	// a multiple of the requested one if samples in between are missing.
	At, Length time.Duration
	// Ports has an entry for each port and class of streams, in the order of the ports in
	// the bed.
	Ports []PortInterval
	// Device contains the activity of the device.
	Device DeviceInterval
	// Gaps reports whether lost frames are known, and Ordering that reordered ones are.
	Gaps, Ordering bool
}

// DeviceInterval contains the activity of a software device, as far as it can be seen; empty
// for any other device.
type DeviceInterval struct {
	// Interfaces in the order of the ports that they are cabled to.
	Interfaces []InterfaceInterval
	// Processors that the device has of its own; nil when it has none.
	Processors *traffic.ProcessorSample
	// Memory of its routing software in bytes, and Routes in its tables, at the end of the
	// interval; nil when that is not known.
	Memory, Routes *int64
}

// InterfaceInterval contains the counts of the device interface at a port of the bed.
type InterfaceInterval struct {
	Port string
	traffic.InterfaceSample
}

// PortInterval contains the activity of a port for the streams of a class.
type PortInterval struct {
	traffic.ClassAt
	// Sends and Receives report whether the port sends and receives the class.
	Sends, Receives bool
	// Intended is the number of frames that the port was asked to send in the interval.
	Intended uint64
	// Tx counts the frames sent in the interval, and TxTotal those since the beginning of
	// the trial; empty if the port does not send the class.
	Tx, TxTotal traffic.TxSample
	// Rx counts the frames received in the interval, and RxTotal those since the beginning
	// of the trial; empty if the port should not receive the class. A frame that came by a
	// further path is not lost at its receiver.
	Rx, RxTotal traffic.RxSample
}

// watched contains the function that receives the intervals of trials, and their length.
type watched struct {
	generator *Generator
	device    *Device
	every     time.Duration
	show      func(Interval)
	// caps of the engine.
	caps traffic.Capabilities
}

// action returns the action that reports the intervals of a trial; false if they are not
// requested, or the engine cannot sample.
func (w *watched) action(p plan.Plan, event Event, trial traffic.Trial) (Action, bool) {
	if w == nil || w.generator.Sampler == nil {
		return Action{}, false
	}
	var last traffic.Sample
	a := Prepared(func(context.Context, bool) error {
		last = traffic.Sample{Ports: traffic.NewPortSamples()}
		return nil
	})
	every := traffic.Sampling{Interval: w.every, Span: trial.Duration, Ports: true}
	if every.Span == 0 {
		every.Span = SendingTime(trial)
	}
	a.alongside = func(ctx context.Context, _ func()) {
		began := w.generator.Clock().Now()
		for {
			err := w.generator.Sampler.Sample(ctx, every, func(one traffic.Sample) {
				if one.Ports != nil && one.At > last.At {
					interval := w.between(p, event, trial, last, one)
					interval.Began = began
					w.show(interval)
					last = one
				}
			})
			if err == nil || ctx.Err() != nil || errors.Is(err, traffic.ErrUnsupported) || w.generator.Sleep(ctx, max(every.Interval, sampleAgain)) != nil {
				return
			}
		}
	}
	return a, true
}

// between is the interval between two samples of a trial.
func (w *watched) between(bed plan.Plan, event Event, trial traffic.Trial, before, now traffic.Sample) Interval {
	out := Interval{Event: event, At: now.At, Length: now.At - before.At, Gaps: w.caps.Gaps, Ordering: w.caps.Ordering}
	intended := map[traffic.ClassAt]uint64{}
	for _, s := range bed.At(event.Step.Size).Streams() {
		load := trial.Loads[s.ID]
		intended[traffic.ClassAt{Port: bed.Ports[s.Tx].Name, Class: s.Class()}] += load.Intended(now.At) - load.Intended(before.At)
	}
	ports := map[traffic.ClassAt]PortInterval{}
	for at, total := range now.Ports.Tx {
		p := PortInterval{ClassAt: at, Sends: true, Intended: intended[at], Tx: total.Since(before.Ports.Tx[at]), TxTotal: total}
		if p.Intended == 0 {
			p.Intended = p.Tx.Sent // As fast as it can is what was asked for.
		}
		ports[at] = p
	}
	earlier, received := withFurther(bed, before.Ports.Rx), withFurther(bed, now.Ports.Rx)
	for at, total := range received {
		p := ports[at]
		p.ClassAt, p.Receives, p.Rx, p.RxTotal = at, true, total.Since(earlier[at]), total
		ports[at] = p
	}
	place := map[string]int{}
	for i, p := range bed.Ports {
		place[p.Name] = i
	}
	out.Ports = slices.SortedFunc(maps.Values(ports), func(a, b PortInterval) int {
		return cmp.Or(cmp.Compare(place[a.Port], place[b.Port]), cmp.Compare(a.Class, b.Class))
	})
	if d := now.Device.Since(before.Device); d != nil {
		out.Device.Processors = d.Processors
		for _, p := range bed.Ports {
			if c, seen := d.Interfaces[p.Name]; seen {
				out.Device.Interfaces = append(out.Device.Interfaces, InterfaceInterval{p.Name, c})
			}
		}
	}
	w.device.look(&out.Device)
	return out
}

// withFurther returns the counts of received frames, corrected for further paths: a frame
// that came by one is not lost at its receiver. A port that is no receiver of a class loses
// none: what did not come by it came by another port.
func withFurther(bed plan.Plan, rx map[traffic.ClassAt]traffic.RxSample) map[traffic.ClassAt]traffic.RxSample {
	homes := map[traffic.ClassAt][]traffic.ClassAt{}
	receives := map[traffic.ClassAt]bool{}
	for _, s := range bed.Streams {
		at := func(port int) traffic.ClassAt {
			return traffic.ClassAt{Port: bed.Ports[port].Name, Class: s.Class()}
		}
		for _, port := range s.Rx {
			receives[at(port)] = true
		}
		for _, port := range s.Further {
			if home := at(s.Rx[0]); !slices.Contains(homes[at(port)], home) {
				homes[at(port)] = append(homes[at(port)], home)
			}
		}
	}
	if len(homes) == 0 {
		return rx
	}
	out := maps.Clone(rx)
	for at, to := range homes {
		here, known := out[at]
		if receives[at] || !known {
			continue
		}
		came := here.Received
		for _, home := range to {
			there := out[home]
			found := min(came, there.Lost)
			came, there.Lost = came-found, there.Lost-found
			out[home] = there
		}
		here.Lost = 0
		out[at] = here
	}
	return out
}
