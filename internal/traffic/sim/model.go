package sim

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Model describes the behavior of a device, and of a tester, per frame size.
type Model struct {
	// rows by rising frame size.
	rows []row
}

// row is one row of the table. Shares are in parts per million, times in
// nanoseconds.
type row struct {
	size int
	// capacityPPM of line rate that a port of the device sends without loss.
	capacityPPM int64
	// latency and jitter at that load.
	latencyMin, latencyAvg, latencyMax, jitterAvg, jitterMax uint64
	// reorderedPPM of the received frames arrive late from reorderOnsetPPM of line
	// rate on; duplicatePPM arrive twice.
	reorderedPPM, reorderOnsetPPM, duplicatePPM int64
	// reorderExtent is the number of frames that overtake a reordered one; 0 means 1.
	reorderExtent uint64
	// lossPPM of the frames are lost from lossOnsetPPM of line rate on, below the
	// capacity.
	lossPPM, lossOnsetPPM int64
	// markedPPM of the frames that may be marked leave with CE, congestion experienced, from
	// markOnsetPPM of line rate on: the ECN threshold of the device.
	markedPPM, markOnsetPPM int64
	// odd describes what the device does to some frames at any load.
	odd odd
	// generatorPPM of line rate is the most that the tester sends.
	generatorPPM int64
	// buffer is the number of frames that a port of the device holds beyond its capacity.
	buffer uint64
	// overloadPPM is the capacity when frames arrive at line rate; 0 means that it
	// stays what it is.
	overloadPPM int64
	// recovery is the time for which the device goes on dropping after an overload.
	recovery time.Duration
	// noisePPM is the largest difference between the capacity of a trial and capacityPPM.
	noisePPM int64
	// wire is the mean of the bits on the wire of the frames of a mix; nil for one
	// size.
	wire *big.Rat
	// between names the rows that the row was made of, when the table has none.
	between string
}

// column is a column of the table.
type column struct {
	name string
	// required columns must stand in the header.
	required bool
	// decimals that the number may have, which also scale it to the unit of row.
	decimals int
	// largest value in the unit of row.
	largest int64
	set     func(*row, int64)
}

const (
	anHour = int64(3_600_000_000_000)
	whole  = v1alpha1.PPM
)

var columns = []column{
	{name: "frame_size_bytes", required: true, largest: frame.MaxSize, set: func(r *row, v int64) { r.size = int(v) }},
	{name: "line_rate_percent", required: true, decimals: 4, largest: whole, set: func(r *row, v int64) { r.capacityPPM = v }},
	{name: "latency_min_us", required: true, decimals: 3, largest: anHour, set: func(r *row, v int64) { r.latencyMin = uint64(v) }},
	{name: "latency_avg_us", required: true, decimals: 3, largest: anHour, set: func(r *row, v int64) { r.latencyAvg = uint64(v) }},
	{name: "latency_max_us", required: true, decimals: 3, largest: anHour, set: func(r *row, v int64) { r.latencyMax = uint64(v) }},
	{name: "jitter_avg_us", decimals: 3, largest: anHour, set: func(r *row, v int64) { r.jitterAvg = uint64(v) }},
	{name: "jitter_max_us", decimals: 3, largest: anHour, set: func(r *row, v int64) { r.jitterMax = uint64(v) }},
	{name: "reordered_ppm", largest: whole, set: func(r *row, v int64) { r.reorderedPPM = v }},
	{name: "reorder_onset_percent", decimals: 4, largest: whole, set: func(r *row, v int64) { r.reorderOnsetPPM = v }},
	{name: "reorder_extent_frames", largest: 1 << 20, set: func(r *row, v int64) { r.reorderExtent = uint64(v) }},
	{name: "duplicate_ppm", largest: whole, set: func(r *row, v int64) { r.duplicatePPM = v }},
	{name: "loss_ppm", largest: whole, set: func(r *row, v int64) { r.lossPPM = v }},
	{name: "loss_onset_percent", decimals: 4, largest: whole, set: func(r *row, v int64) { r.lossOnsetPPM = v }},
	{name: "ecn_marked_ppm", largest: whole, set: func(r *row, v int64) { r.markedPPM = v }},
	{name: "ecn_onset_percent", decimals: 4, largest: whole, set: func(r *row, v int64) { r.markOnsetPPM = v }},
	{name: "corrupted_ppm", largest: whole, set: func(r *row, v int64) { r.odd.corruptedPPM = v }},
	{name: "truncated_ppm", largest: whole, set: func(r *row, v int64) { r.odd.truncatedPPM = v }},
	{name: "delayed_ppm", largest: whole, set: func(r *row, v int64) { r.odd.delayedPPM = v }},
	{name: "delay_us", decimals: 3, largest: anHour, set: func(r *row, v int64) { r.odd.delay = uint64(v) }},
	{name: "stall_us", decimals: 3, largest: anHour, set: func(r *row, v int64) { r.odd.stall = time.Duration(v) }},
	{name: "stall_period_us", decimals: 3, largest: anHour, set: func(r *row, v int64) { r.odd.stallPeriod = time.Duration(v) }},
	{name: "generator_limit_percent", decimals: 4, largest: whole, set: func(r *row, v int64) { r.generatorPPM = v }},
	{name: "buffer_frames", largest: 1 << 40, set: func(r *row, v int64) { r.buffer = uint64(v) }},
	{name: "overload_line_rate_percent", decimals: 4, largest: whole, set: func(r *row, v int64) { r.overloadPPM = v }},
	{name: "recovery_us", decimals: 3, largest: anHour, set: func(r *row, v int64) { r.recovery = time.Duration(v) }},
	{name: "capacity_noise_ppm", largest: whole, set: func(r *row, v int64) { r.noisePPM = v }},
	// Published tables state these two for a number of ports of their own; the
	// rates of a simulated bed follow from line_rate_percent and its ports.
	{name: "frames_per_second", decimals: 2, largest: 1 << 62, set: func(*row, int64) {}},
	{name: "tbit_per_second", decimals: 3, largest: 1 << 62, set: func(*row, int64) {}},
}

// ParseModel reads a model from CSV. Errors name line, column and value.
func ParseModel(text string) (*Model, error) {
	m := &Model{}
	var byIndex []column
	err := readTable("device model", text, func(header []string) (err error) {
		byIndex, err = readHeader(header)
		return err
	}, func(record []string, line int) error {
		r, err := readRow(record, byIndex, line)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(m.rows, func(o row) bool { return o.size == r.size }); i >= 0 {
			return fmt.Errorf("device model line %d, column frame_size_bytes: %d stands there twice: remove one of the lines", line, r.size)
		}
		m.rows = append(m.rows, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(m.rows) == 0 {
		return nil, errors.New("the device model has a header and no row: give one row per frame size")
	}
	slices.SortFunc(m.rows, func(a, b row) int { return a.size - b.size })
	return m, nil
}

func readHeader(header []string) ([]column, error) {
	var byIndex []column
	for _, name := range header {
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == strings.TrimSpace(name) })
		if i < 0 {
			var known []string
			for _, c := range columns {
				known = append(known, c.name)
			}
			return nil, fmt.Errorf("device model line 1: %q is not a column: use %s", name, strings.Join(known, ", "))
		}
		if slices.ContainsFunc(byIndex, func(c column) bool { return c.name == columns[i].name }) {
			return nil, fmt.Errorf("device model line 1: column %s stands there twice", columns[i].name)
		}
		byIndex = append(byIndex, columns[i])
	}
	for _, c := range columns {
		if c.required && !slices.ContainsFunc(byIndex, func(o column) bool { return o.name == c.name }) {
			return nil, fmt.Errorf("device model line 1: column %s is missing", c.name)
		}
	}
	return byIndex, nil
}

func readRow(record []string, byIndex []column, line int) (row, error) {
	r := row{generatorPPM: whole}
	for i, c := range byIndex {
		text := strings.TrimSpace(record[i])
		if silent(text) && c.name != "frame_size_bytes" && c.name != "line_rate_percent" {
			continue
		}
		v, err := parseDecimal(text, c.decimals)
		if err != nil || v > c.largest {
			return row{}, fmt.Errorf("device model line %d, column %s: %q is not a number of 0 to %s with at most %d decimals", line, c.name, text, formatDecimal(c.largest, c.decimals), c.decimals)
		}
		c.set(&r, v)
	}
	problem := ""
	switch {
	case r.size < frame.EthernetMinSize:
		problem = fmt.Sprintf("column frame_size_bytes: %d is below the smallest frame, %d", r.size, frame.EthernetMinSize)
	case r.latencyMin > r.latencyAvg || r.latencyAvg > r.latencyMax:
		problem = fmt.Sprintf("columns latency_min_us, latency_avg_us, latency_max_us: %d, %d, %d ns are not in rising order", r.latencyMin, r.latencyAvg, r.latencyMax)
	case r.jitterAvg > r.jitterMax:
		problem = fmt.Sprintf("columns jitter_avg_us, jitter_max_us: %d, %d ns are not in rising order", r.jitterAvg, r.jitterMax)
	case r.odd.stall > 0 && r.odd.stallPeriod < max(2*r.odd.stall, time.Millisecond):
		problem = fmt.Sprintf("columns stall_us, stall_period_us: stalls of %v every %v: want a period of twice a stall at least, and of 1000 us", r.odd.stall, r.odd.stallPeriod)
	}
	if problem != "" {
		return row{}, fmt.Errorf("device model line %d, %s", line, problem)
	}
	return r, nil
}

// Sizes are the lowest and the highest frame size of the model, in bytes with FCS.
func (m *Model) Sizes() (lowest, highest int) { return m.rows[0].size, m.rows[len(m.rows)-1].size }

// Covers reports whether the model has a behavior at a frame size: its own row, or rows
// on both sides.
func (m *Model) Covers(size int) bool {
	lowest, highest := m.Sizes()
	return lowest <= size && size <= highest
}

// at is the behavior at a frame size. Between two rows it is made of both: no
// more frames/s than the next smaller size, no larger share of line rate than
// the next larger one, and everything else in proportion to the size. Outside
// of the table it is not known.
func (m *Model) at(size int) (row, error) {
	i, found := slices.BinarySearchFunc(m.rows, size, func(r row, size int) int { return r.size - size })
	if found {
		return m.rows[i], nil
	}
	if !m.Covers(size) {
		lowest, highest := m.Sizes()
		return row{}, fmt.Errorf("the device model has frame sizes of %d to %d bytes and says nothing about %d: change the frame size, or add a row to the model: %w",
			lowest, highest, size, traffic.ErrUnsupported)
	}
	a, b := m.rows[i-1], m.rows[i]
	mix := func(x, y int64) int64 {
		return x + (y-x)*int64(size-a.size)/int64(b.size-a.size)
	}
	mixed := func(x, y uint64) uint64 { return uint64(mix(int64(x), int64(y))) }
	sameRate := a.capacityPPM * frame.WireBits(size) / frame.WireBits(a.size)
	return row{
		size:        size,
		capacityPPM: min(sameRate, b.capacityPPM),
		latencyMin:  mixed(a.latencyMin, b.latencyMin), latencyAvg: mixed(a.latencyAvg, b.latencyAvg), latencyMax: mixed(a.latencyMax, b.latencyMax),
		jitterAvg: mixed(a.jitterAvg, b.jitterAvg), jitterMax: mixed(a.jitterMax, b.jitterMax),
		reorderedPPM: mix(a.reorderedPPM, b.reorderedPPM), reorderOnsetPPM: mix(a.reorderOnsetPPM, b.reorderOnsetPPM),
		reorderExtent: uint64(mix(int64(a.reorderExtent), int64(b.reorderExtent))),
		duplicatePPM:  mix(a.duplicatePPM, b.duplicatePPM),
		lossPPM:       mix(a.lossPPM, b.lossPPM), lossOnsetPPM: mix(a.lossOnsetPPM, b.lossOnsetPPM),
		markedPPM: mix(a.markedPPM, b.markedPPM), markOnsetPPM: mix(a.markOnsetPPM, b.markOnsetPPM),
		odd:          a.odd.mixed(b.odd, mix),
		generatorPPM: min(a.generatorPPM*frame.WireBits(size)/frame.WireBits(a.size), b.generatorPPM),
		buffer:       mixed(a.buffer, b.buffer), overloadPPM: mix(a.overloadPPM, b.overloadPPM),
		recovery: time.Duration(mix(int64(a.recovery), int64(b.recovery))),
		noisePPM: mix(a.noisePPM, b.noisePPM),
		between:  fmt.Sprintf("%d B and %d B", a.size, b.size),
	}, nil
}
