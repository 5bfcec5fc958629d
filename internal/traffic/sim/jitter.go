package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// JitterTable contains the jitter of frames by size and load. Test houses print it separately
// from the throughput table, one for the average and one for the maximum, with NA if a load is
// above the throughput.
type JitterTable struct {
	curves map[int]*jitterCurve
}

// jitterCurve is the jitter of one frame size.
type jitterCurve struct {
	// line of the table that it stands in.
	line int
	// points at given loads, by rising load.
	points []jitterPoint
	// throughput is the jitter at the capacity; its load is not known here.
	throughput jitterPoint
}

// jitterPoint is the jitter at one load, in nanoseconds. One that is not stated
// is NA in the table.
type jitterPoint struct {
	ppm    int64
	ns     uint64
	stated bool
}

// atThroughput is the load of the column of the throughput, which depends on the
// frame size.
const atThroughput = 0

const (
	sizeColumn       = "frame_size_bytes"
	throughputColumn = "throughput_rate_us"
	loadPrefix       = "load_"
	loadSuffix       = "_percent_us"
)

// jitterColumn is the name of the column of a load.
func jitterColumn(ppm int64) string {
	if ppm == atThroughput {
		return throughputColumn
	}
	return loadPrefix + strings.TrimSuffix(string(v1alpha1.FormatPPM(ppm)), "%") + loadSuffix
}

// ParseJitter reads a table of jitter by load from CSV: frame_size_bytes, then
// load_10_percent_us and the like for any load, and throughput_rate_us. Errors
// name line, column and value.
func ParseJitter(text string) (*JitterTable, error) {
	t := &JitterTable{curves: map[int]*jitterCurve{}}
	var loads []int64
	err := readTable("jitter table", text, func(header []string) (err error) {
		loads, err = jitterLoads(header)
		return err
	}, func(cells []string, line int) error {
		return t.read(cells, loads, line)
	})
	if err == nil && len(t.curves) == 0 {
		err = errors.New("the jitter table has a header and no row: give one row per frame size")
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// jitterLoads reads the header: the load of every column after the first.
func jitterLoads(header []string) ([]int64, error) {
	if name := strings.TrimSpace(header[0]); name != sizeColumn {
		return nil, fmt.Errorf("jitter table line 1: the first column is %q: it must be %s", name, sizeColumn)
	}
	var loads []int64
	for _, name := range header[1:] {
		name = strings.TrimSpace(name)
		ppm := int64(atThroughput)
		if name != throughputColumn {
			var err error
			share, prefixed := strings.CutPrefix(name, loadPrefix)
			share, suffixed := strings.CutSuffix(share, loadSuffix)
			if ppm, err = parseDecimal(share, 4); !prefixed || !suffixed || err != nil || ppm < 1 || ppm > whole {
				return nil, fmt.Errorf("jitter table line 1: %q is not a column: use %s, then %s for a load of 10 %% of line rate and likewise any above 0 up to 100 with at most 4 decimals, and %s",
					name, sizeColumn, jitterColumn(100_000), throughputColumn)
			}
		}
		if slices.Contains(loads, ppm) {
			return nil, fmt.Errorf("jitter table line 1: column %s stands there twice: remove one", name)
		}
		loads = append(loads, ppm)
	}
	if len(loads) == 0 {
		return nil, fmt.Errorf("jitter table line 1: there is no column of a load: add one, such as %s or %s", jitterColumn(100_000), throughputColumn)
	}
	return loads, nil
}

// read reads one row.
func (t *JitterTable) read(cells []string, loads []int64, line int) error {
	size, err := parseDecimal(strings.TrimSpace(cells[0]), 0)
	if err != nil || size < frame.EthernetMinSize || size > frame.MaxSize {
		return fmt.Errorf("jitter table line %d, column %s: %q is not a frame size of %d to %d bytes", line, sizeColumn, cells[0], frame.EthernetMinSize, frame.MaxSize)
	}
	if earlier := t.curves[int(size)]; earlier != nil {
		return fmt.Errorf("jitter table line %d, column %s: %d stands in line %d already: remove one of the lines", line, sizeColumn, size, earlier.line)
	}
	c := &jitterCurve{line: line}
	for i, ppm := range loads {
		p := jitterPoint{ppm: ppm}
		if text := strings.TrimSpace(cells[i+1]); !silent(text) {
			ns, err := parseDecimal(text, 3)
			if err != nil || ns > anHour {
				return fmt.Errorf("jitter table line %d, column %s: %q is not a number of 0 to %s with at most 3 decimals: give the jitter in microseconds, or NA where the load is above the throughput",
					line, jitterColumn(ppm), text, formatDecimal(anHour, 3))
			}
			p.ns, p.stated = uint64(ns), true
		}
		if ppm == atThroughput {
			c.throughput = p
			continue
		}
		c.points = append(c.points, p)
	}
	slices.SortFunc(c.points, func(a, b jitterPoint) int { return int(a.ppm - b.ppm) })
	t.curves[int(size)] = c
	return nil
}

// CheckJitter refuses two tables that contradict each other: an average above the
// maximum at the same frame size and load. Either may be nil.
func CheckJitter(average, maximum *JitterTable) error {
	if average == nil || maximum == nil {
		return nil
	}
	for _, size := range slices.Sorted(maps.Keys(average.curves)) {
		a, m := average.curves[size], maximum.curves[size]
		if m == nil {
			continue
		}
		for _, p := range append([]jitterPoint{a.throughput}, a.points...) {
			q := m.throughput
			if p.ppm != atThroughput {
				i := slices.IndexFunc(m.points, func(q jitterPoint) bool { return q.ppm == p.ppm })
				if i < 0 {
					continue
				}
				q = m.points[i]
			}
			if p.stated && q.stated && p.ns > q.ns {
				return fmt.Errorf("jitter table of the average line %d, column %s: %d ns at %d bytes is above the %d ns in line %d of the table of the maximum: correct one of them",
					a.line, jitterColumn(p.ppm), p.ns, size, q.ns, m.line)
			}
		}
	}
	return nil
}

// WithJitter gives the device jitter by load, in place of that of the model;
// either table may be nil.
func WithJitter(average, maximum *JitterTable) Option {
	return func(e *Engine) { e.run.handling.jitterAvg, e.run.handling.jitterMax = average, maximum }
}

// portLoad is the load of a port of the device in a trial.
type portLoad struct {
	// arrived frames, and as many as the port could send.
	arrived, capacity uint64
	// at returns the number of frames that arrive at a share of line rate in parts per
	// million.
	at func(ppm int64) uint64
}

// percent is the load for a person.
func (l portLoad) percent() string {
	ppm := (mulDiv(2*l.arrived, uint64(whole), max(l.at(whole), 1)) + 1) / 2
	return string(v1alpha1.FormatPPM(int64(ppm)))
}

// at is the jitter of frames of a size at a load, and a remark when it is not in
// the table. Model is the jitter that the model gives at the load, and own that at
// its capacity: they hold where the table says nothing. The receiver may be nil.
func (t *JitterTable) at(size int, load portLoad, model, own uint64) (ns uint64, remark string) {
	if t == nil {
		return model, ""
	}
	c := t.curves[size]
	if c == nil {
		return model, fmt.Sprintf("of %d B is not in the table: that of the device model was used", size)
	}
	full := c.throughput
	if load.arrived == load.capacity && full.stated {
		return full.ns, ""
	}
	for _, p := range c.points {
		switch {
		case load.arrived != load.at(p.ppm):
		case p.stated:
			return p.ns, ""
		default:
			return model, fmt.Sprintf("at %s of line rate is NA in the table: that of the device model was used", load.percent())
		}
	}
	if !full.stated {
		full.ns = own
	}
	if load.arrived >= load.capacity {
		if load.arrived == load.capacity {
			return own, fmt.Sprintf("at the throughput, %s of line rate, is not in the table: that of the device model was used", load.percent())
		}
		return full.ns, fmt.Sprintf("at %s of line rate, above the throughput, is not in the table: that at the throughput was used", load.percent())
	}
	return c.between(load, full.ns)
}

// between is the jitter at a load below the capacity that no column of the table
// is for, in proportion between the loads next to it; full is that at the capacity.
func (c *jitterCurve) between(load portLoad, full uint64) (ns uint64, remark string) {
	var low, high *jitterPoint
	for i, p := range c.points {
		switch n := load.at(p.ppm); {
		case !p.stated || n >= load.capacity:
		case n < load.arrived:
			low = &c.points[i]
		case high == nil:
			high = &c.points[i]
		}
	}
	to, end, name := full, load.capacity, "the throughput"
	if high != nil {
		to, end, name = high.ns, load.at(high.ppm), string(v1alpha1.FormatPPM(high.ppm))
	}
	if low == nil {
		return to, fmt.Sprintf("at %s of line rate is not in the table: that at %s, its lowest load, was used", load.percent(), name)
	}
	begin := load.at(low.ppm)
	part := func(v uint64) uint64 { return (mulDiv(2*v, load.arrived-begin, end-begin) + 1) / 2 }
	ns = low.ns + part(max(to, low.ns)-low.ns) - part(low.ns-min(to, low.ns))
	return ns, fmt.Sprintf("at %s of line rate was interpolated between %s and %s", load.percent(), v1alpha1.FormatPPM(low.ppm), name)
}

// shape is the latency and jitter at a load, and what must be said of the jitter.
func (h *handling) shape(load portLoad) (shape, string) {
	s := h.row.shape(load)
	average, remark := h.jitterAvg.at(h.row.size, load, s.jitterAvg, h.row.jitterAvg)
	maximum, other := h.jitterMax.at(h.row.size, load, s.jitterMax, h.row.jitterMax)
	// One table and the model may not go together: no average is above the maximum.
	s.jitterAvg, s.jitterMax = average, max(maximum, average)
	switch {
	case remark == other:
		return s, subject("average and maximum jitter ", remark)
	case remark != "" && other != "":
		return s, subject("average jitter ", remark) + "; " + subject("maximum jitter ", other)
	}
	return s, subject("average jitter ", remark) + subject("maximum jitter ", other)
}

func subject(of, remark string) string {
	if remark == "" {
		return ""
	}
	return of + remark
}

// maxRemarks bounds the notes of a trial whose ports are all differently loaded.
const maxRemarks = 3

// remark notes what is said of a port, once for all ports of which it is true.
func remark(m *traffic.Measurement, text string) {
	note := traffic.Note{Kind: traffic.NoteModel, Text: text}
	if text == "" || slices.Contains(m.Notes, note) {
		return
	}
	if len(m.Notes) == maxRemarks {
		note.Text = "the jitter of further ports, at other loads, was found likewise"
	}
	if len(m.Notes) <= maxRemarks {
		m.Notes = append(m.Notes, note)
	}
}
