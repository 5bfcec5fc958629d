package kit

import (
	"cmp"
	"time"
)

// Defaults of the operator's options. Those of the API are markers of its fields.
const (
	// A finished row waits at most this long before it is stored.
	defaultPoll = time.Second
	// A watching person is kept up to date without filling etcd.
	defaultProgressEvery = 5 * time.Second
	// A person waits at most this long for a bed whose ConfigMap was applied after it.
	defaultRecheck = 15 * time.Second
	// The place of one benchmark is written at most this often.
	defaultRefresh = 30 * time.Second
	// A lab of 200 beds makes 400 points a minute, in two requests.
	defaultBedSeries = 30 * time.Second
	// The API server gets a few short lists.
	defaultSweep = 10 * time.Minute
	// An archive that is back is used within this time.
	defaultArchiveRetry = time.Minute
)

// DefaultDeadlines returns the deadlines without other settings.
func DefaultDeadlines() Deadlines {
	return Deadlines{
		Device:   3 * time.Minute,
		Traffic:  3 * time.Minute,
		Runner:   time.Minute,
		CleanUp:  2 * time.Minute,
		Baseline: 10 * time.Minute,
	}
}

// WithDefaults returns the options with a default for everything that is 0.
func (o Options) WithDefaults() Options {
	o.Deadlines = cmp.Or(o.Deadlines, DefaultDeadlines())
	o.Poll = cmp.Or(o.Poll, defaultPoll)
	o.ProgressEvery = cmp.Or(o.ProgressEvery, defaultProgressEvery)
	o.Recheck = cmp.Or(o.Recheck, defaultRecheck)
	o.Refresh = cmp.Or(o.Refresh, defaultRefresh)
	o.BedSeries = cmp.Or(o.BedSeries, defaultBedSeries)
	o.Sweep = cmp.Or(o.Sweep, defaultSweep)
	o.ArchiveRetry = cmp.Or(o.ArchiveRetry, defaultArchiveRetry)
	return o
}
