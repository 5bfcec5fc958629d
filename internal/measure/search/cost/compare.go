package cost

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/measure/search"
)

// Sizes are the frame sizes of the comparison, in bytes.
var Sizes = []int{64, 128, 256, 512, 1024, 1280, 1518, 9216}

// Setup contains the parameters of a comparison.
type Setup struct {
	// Seeds is the number of devices; each is searched at every frame size. First is
	// the seed of the first.
	Seeds int
	First uint64
	// Config of all searches.
	Config search.Config
	// Disturbed is the part of the trials that lose frames for no reason of the
	// device.
	Disturbed float64
}

// DefaultSetup is the one that the documentation speaks about.
func DefaultSetup() Setup {
	return Setup{
		Seeds: 1000, First: 1, Disturbed: 0.01,
		Config: search.Config{
			MinPPM: 1000, MaxPPM: million, ResolutionPPM: 1000,
			TrialDuration: time.Minute, SearchTrialDuration: 10 * time.Second,
		},
	}
}

// Search is a search of a comparison. It is given the hints that it found itself at
// earlier frame sizes of the same device.
type Search func(ctx context.Context, cfg search.Config, hints []search.Hint, size int, m search.Measurer) (search.Result, error)

// Method is a search with a name.
type Method struct {
	Name string
	// EndsEarly reports whether its trials are ended once their loss is certain, and that
	// settling ends when all frames are back, as NoDrop runs them.
	EndsEarly bool
	Run       Search
}

// Names of the methods that are set against each other: MLRsearch with the defaults of
// its reference and the width of Informed, and with all else that Informed has: the
// early end and the short trials.
const (
	NamePublished = "MLRsearch, equal widths"
	NameEqual     = "MLRsearch, equal widths, early end, short targets"
	NameInformed  = "Informed"
)

// Reference is the implementation of MLRsearch whose defaults the comparison uses.
const Reference = "the Python library MLRsearch 1.2.1 of FD.io CSIT"

// Methods are the searches that are compared.
func Methods() []Method {
	tst009 := func(g *search.Goal) { g.ExceedRatioPPM, g.DurationSum = million/2, 2*g.FinalTrialDuration }
	return []Method{
		{Name: "Binary, all trials full", Run: binary(false)},
		{Name: "Binary, short trials first", EndsEarly: true, Run: binary(true)},
		{Name: NamePublished, Run: mlr(none)},
		{Name: "MLRsearch, equal widths, TST009 goal", Run: mlr(tst009)},
		{Name: "MLRsearch, own width of 0.5%", Run: mlr(relative)},
		{Name: "MLRsearch, equal widths, early end", EndsEarly: true, Run: mlr(none)},
		{Name: NameEqual, EndsEarly: true, Run: mlr(short)},
		{Name: "Informed, no early end", Run: informed(true)},
		{Name: "Informed, no hints", EndsEarly: true, Run: informed(false)},
		{Name: NameInformed, EndsEarly: true, Run: informed(true)},
	}
}

func none(*search.Goal) {}

// short gives a goal the short trials of Informed, which come before the full one in
// one step.
func short(g *search.Goal) {
	g.InitialTrialDuration, g.PrecedingTargets = g.FinalTrialDuration/20, 1
}

// relative gives a goal the width of the reference implementation, a part of the
// upper bound: half a hundredth.
func relative(g *search.Goal) { g.WidthPPM = 5000 }

// reference is the goal of RFC 2544, no loss in a trial of full length, with the first
// trials of a sixtieth, the two preceding targets and the expansion of the reference
// implementation.
func reference(full time.Duration) search.Goal {
	return search.Goal{
		Name: "NDR", InitialTrialDuration: max(full/60, 1), FinalTrialDuration: full, DurationSum: full,
		PrecedingTargets: 2, Expansion: 2,
	}
}

// mlr is MLRsearch with the goal of RFC 2544, changed.
func mlr(change func(*search.Goal)) Search {
	return func(ctx context.Context, cfg search.Config, _ []search.Hint, _ int, m search.Measurer) (search.Result, error) {
		goal := reference(cfg.TrialDuration)
		change(&goal)
		return search.MLRsearch(ctx, cfg, []search.Goal{goal}, m)
	}
}

func binary(short bool) Search {
	return func(ctx context.Context, cfg search.Config, _ []search.Hint, _ int, m search.Measurer) (search.Result, error) {
		if !short {
			cfg.SearchTrialDuration = cfg.TrialDuration
		}
		return search.Binary(ctx, cfg, m)
	}
}

func informed(hinted bool) Search {
	return func(ctx context.Context, cfg search.Config, hints []search.Hint, size int, m search.Measurer) (search.Result, error) {
		if !hinted {
			return search.Informed(ctx, cfg, 0, "", m)
		}
		start, source := search.Predict(hints, Speed, size)
		return search.Informed(ctx, cfg, start, source, m)
	}
}

// Row contains the cost of a method on one kind of devices, and its distance from the truth.
type Row struct {
	Method string
	Kind   Kind
	// Searches that were run.
	Searches int
	// Trials, Sending and Wall are means per search: trials, seconds of sending, and
	// seconds with settling and rest. MedianWall is the median of the latter.
	Trials, Sending, Wall, MedianWall float64
	// MeanErrorPPM, ErrorPPM and Error95PPM are the mean, the median and the 95th
	// percentile of the distance from the true zero-loss rate, in ppm of line rate.
	MeanErrorPPM, ErrorPPM, Error95PPM float64
	// Loss is the mean chance, 0 to 1, that a fresh trial of full length at the load
	// reported loses a frame.
	Loss float64
	// Forgiven is the mean number of failures that a search took back.
	Forgiven float64
	// Refuted is the number of searches whose reported load lost a frame in a trial of full
	// length.
	Refuted int
}

// Kind of devices.
type Kind string

// All devices, those whose loss begins slowly, and those with deep buffers.
const (
	All  Kind = "all"
	Slow Kind = "slow onset"
	Deep Kind = "deep buffer"
)

// sample is one search.
type sample struct {
	deep                               bool
	trials, sending, wall, error, loss float64
	forgiven                           int
	refuted                            bool
}

// Compare runs all methods on all devices.
func Compare(ctx context.Context, setup Setup) ([]Row, error) {
	var rows []Row
	for _, method := range Methods() {
		var samples []sample
		for seed := range uint64(setup.Seeds) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			found, err := method.on(ctx, setup, setup.First+seed)
			if err != nil {
				return nil, fmt.Errorf("%s with seed %d: %w", method.Name, setup.First+seed, err)
			}
			samples = append(samples, found...)
		}
		for _, kind := range []Kind{All, Slow, Deep} {
			rows = append(rows, summarize(method.Name, kind, samples))
		}
	}
	return rows, nil
}

// on searches the device of a seed at all frame sizes.
func (m Method) on(ctx context.Context, setup Setup, seed uint64) ([]sample, error) {
	device := NewDevice(seed)
	var samples []sample
	var hints []search.Hint
	for _, size := range Sizes {
		bed := NewBed(device, size, setup.Disturbed, setup.Config.TrialDuration, seed)
		bed.EndsEarly = m.EndsEarly
		r, err := m.Run(ctx, setup.Config, hints, size, bed)
		if err != nil {
			return nil, fmt.Errorf("at %d bytes: %w", size, err)
		}
		found := r.ThroughputPPM()
		if h, ok := search.Found(Speed, size, found, setup.Config.MaxPPM, fmt.Sprintf("%d B", size)); ok {
			hints = append(hints, h)
		}
		samples = append(samples, sample{
			deep: device.Deep(), trials: float64(r.TrialCount()), sending: r.Sending().Seconds(), wall: bed.Wall.Seconds(),
			error: math.Abs(float64(found) - device.ZeroLoss(size, setup.Config.TrialDuration)), loss: bed.LossChance(found),
			forgiven: r.Forgiven, refuted: bed.LostAt[found],
		})
	}
	return samples, nil
}

func summarize(name string, kind Kind, all []sample) Row {
	var samples []sample
	for _, s := range all {
		if kind == All || s.deep == (kind == Deep) {
			samples = append(samples, s)
		}
	}
	row := Row{Method: name, Kind: kind, Searches: len(samples)}
	values := func(value func(sample) float64) []float64 {
		list := make([]float64, len(samples))
		for i, s := range samples {
			list[i] = value(s)
		}
		slices.Sort(list)
		return list
	}
	errors, walls := values(func(s sample) float64 { return s.error }), values(func(s sample) float64 { return s.wall })
	row.ErrorPPM, row.Error95PPM, row.MedianWall = quantile(errors, 0.5), quantile(errors, 0.95), quantile(walls, 0.5)
	n := float64(max(len(samples), 1))
	for _, s := range samples {
		row.Trials += s.trials / n
		row.Sending += s.sending / n
		row.Wall += s.wall / n
		row.MeanErrorPPM += s.error / n
		row.Loss += s.loss / n
		row.Forgiven += float64(s.forgiven) / n
		if s.refuted {
			row.Refuted++
		}
	}
	return row
}

// quantile returns the value at a share, 0 to 1, of sorted values; 0 if there are no values.
func quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}
