package cost

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/search"
)

// Sizes are the frame sizes of the comparison, in bytes.
var Sizes = []int{64, 128, 256, 512, 1024, 1280, 1518, 9216}

// Setup is what a comparison is made with.
type Setup struct {
	// Seeds is the number of devices; each is searched at every frame size.
	Seeds int
	// Config of all searches.
	Config search.Config
	// Disturbed is the part of the trials that lose frames for no reason of the
	// device.
	Disturbed float64
}

// DefaultSetup is the one that the documentation speaks about.
func DefaultSetup() Setup {
	return Setup{
		Seeds: 1000, Disturbed: 0.01,
		Config: search.Config{
			MinPPM: 1000, MaxPPM: million, ResolutionPPM: 1000,
			TrialDuration: time.Minute, SearchTrialDuration: 10 * time.Second,
		},
	}
}

// Method is a search with a name. It is given the hints that the same method
// found at earlier frame sizes of the same device.
type Method struct {
	Name string
	Run  func(ctx context.Context, cfg search.Config, hints []search.Hint, size int, m search.Measurer) (search.Result, error)
}

// Names of the two methods that are set against each other.
const (
	NameMLRsearch = "MLRsearch, RFC 2544 goal"
	NameInformed  = "Informed"
)

// Methods are the searches that are compared.
func Methods() []Method {
	mlr := func(change func(*search.Goal)) func(context.Context, search.Config, []search.Hint, int, search.Measurer) (search.Result, error) {
		return func(ctx context.Context, cfg search.Config, _ []search.Hint, _ int, m search.Measurer) (search.Result, error) {
			goal := search.Throughput2544(cfg.TrialDuration)
			change(&goal)
			return search.MLRsearch(ctx, cfg, []search.Goal{goal}, m)
		}
	}
	binary := func(short bool) func(context.Context, search.Config, []search.Hint, int, search.Measurer) (search.Result, error) {
		return func(ctx context.Context, cfg search.Config, _ []search.Hint, _ int, m search.Measurer) (search.Result, error) {
			if !short {
				cfg.SearchTrialDuration = cfg.TrialDuration
			}
			return search.Binary(ctx, cfg, m)
		}
	}
	return []Method{
		{Name: "Binary, all trials full", Run: binary(false)},
		{Name: "Binary, short trials first", Run: binary(true)},
		{Name: NameMLRsearch, Run: mlr(func(*search.Goal) {})},
		{Name: "MLRsearch, TST009 goal", Run: mlr(func(g *search.Goal) {
			g.ExceedRatioPPM, g.DurationSum = million/2, 2*g.FinalTrialDuration
		})},
		{Name: NameInformed, Run: func(ctx context.Context, cfg search.Config, hints []search.Hint, size int, m search.Measurer) (search.Result, error) {
			start, source := search.Predict(hints, Speed, size)
			return search.Informed(ctx, cfg, start, source, m)
		}},
		{Name: "Informed, no hints", Run: func(ctx context.Context, cfg search.Config, _ []search.Hint, _ int, m search.Measurer) (search.Result, error) {
			return search.Informed(ctx, cfg, 0, "", m)
		}},
	}
}

// Row is what a method cost at a frame size, and how far it was from the truth.
type Row struct {
	Method string
	// Size in bytes, 0 for all together.
	Size int
	// Trials, Seconds of sending, and WallSeconds with settling and rest: medians.
	Trials, Seconds, WallSeconds float64
	// MeanSeconds of sending.
	MeanSeconds float64
	// ErrorPPM and Error95PPM are the median and the 95th percentile of the
	// distance from the true zero-loss rate, in ppm of line rate.
	ErrorPPM, Error95PPM float64
	// Refuted is how often the load reported lost a frame in a trial of full length.
	Refuted int
}

// sample is one search.
type sample struct {
	trials, seconds, wall, error float64
	refuted                      bool
}

// Compare runs all methods on all devices.
func Compare(ctx context.Context, setup Setup) ([]Row, error) {
	var rows []Row
	for _, method := range Methods() {
		bySize, all := make([][]sample, len(Sizes)), []sample(nil)
		for seed := range uint64(setup.Seeds) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			device := NewDevice(seed + 1)
			var hints []search.Hint
			for i, size := range Sizes {
				bed := NewBed(device, size, setup.Disturbed, setup.Config.TrialDuration, seed+1)
				r, err := method.Run(ctx, setup.Config, hints, size, bed)
				if err != nil {
					return nil, fmt.Errorf("%s at %d bytes with seed %d: %w", method.Name, size, seed, err)
				}
				found := r.ThroughputPPM()
				if h, ok := search.Found(Speed, size, found, setup.Config.MaxPPM, fmt.Sprintf("%d B", size)); ok {
					hints = append(hints, h)
				}
				bySize[i] = append(bySize[i], sample{
					trials: float64(r.TrialCount()), seconds: r.Sending().Seconds(),
					wall:    (r.Sending() + time.Duration(r.TrialCount())*RestAndSettle).Seconds(),
					error:   math.Abs(float64(found) - device.ZeroLoss(size)),
					refuted: bed.LostAt[found],
				})
			}
		}
		for i, size := range Sizes {
			rows = append(rows, summarize(method.Name, size, bySize[i]))
			all = append(all, bySize[i]...)
		}
		rows = append(rows, summarize(method.Name, 0, all))
	}
	return rows, nil
}

// RestAndSettle is waited with every trial (RFC 2544 section 23).
const RestAndSettle = 7 * time.Second

func summarize(name string, size int, samples []sample) Row {
	row := Row{Method: name, Size: size}
	quantile := func(value func(sample) float64, share float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = value(s)
		}
		slices.Sort(values)
		if len(values) == 0 {
			return 0
		}
		return values[min(int(share*float64(len(values))), len(values)-1)]
	}
	row.Trials = quantile(func(s sample) float64 { return s.trials }, 0.5)
	row.Seconds = quantile(func(s sample) float64 { return s.seconds }, 0.5)
	row.WallSeconds = quantile(func(s sample) float64 { return s.wall }, 0.5)
	row.ErrorPPM = quantile(func(s sample) float64 { return s.error }, 0.5)
	row.Error95PPM = quantile(func(s sample) float64 { return s.error }, 0.95)
	for _, s := range samples {
		row.MeanSeconds += s.seconds / float64(len(samples))
		if s.refuted {
			row.Refuted++
		}
	}
	return row
}
