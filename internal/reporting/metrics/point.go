package metrics

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

// Tag is an indexed property of a point.
type Tag struct{ Key, Value string }

// Field is a value of a point: an int64, a bool or a string.
type Field struct {
	Key   string
	Value any
}

// Point is a moment of a series.
type Point struct {
	// Measurement is one of Schema.
	Measurement string
	// Tags in the order of their keys, none of them empty.
	Tags []Tag
	// Fields, at least one.
	Fields []Field
	// Time of the point, to the nanosecond.
	Time time.Time
}

// maxText is the maximum length of a text field in bytes. Longer texts are cut: the servers
// refuse texts above 64 KiB.
const maxText = 4096

// newPoint leaves empty tags out, and replaces in texts what the line protocol cannot
// carry.
func newPoint(measurement string, at time.Time, tags []Tag, fields []Field) Point {
	p := Point{Measurement: measurement, Fields: fields, Time: at}
	for _, t := range tags {
		if t.Value = plain(t.Value); t.Value != "" {
			p.Tags = append(p.Tags, t)
		}
	}
	slices.SortFunc(p.Tags, func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	for i, f := range fields {
		if text, is := f.Value.(string); is {
			fields[i].Value = short(strings.ToValidUTF8(text, "?"))
		}
	}
	return p
}

// plain is a text without control characters and without a backslash at its end, which
// would escape what follows it.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimSpace(strings.TrimRight(text, `\`))
}

func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Series identifies the series of the point: the measurement and the tags.
func (p Point) Series() string {
	var b strings.Builder
	b.WriteString(p.Measurement)
	for _, t := range p.Tags {
		b.WriteString("," + t.Key + "=" + t.Value)
	}
	return b.String()
}

// AppendLine appends the point as one line of the line protocol, with its newline.
func (p Point) AppendLine(to []byte) ([]byte, error) {
	var e lineprotocol.Encoder
	e.SetPrecision(lineprotocol.Nanosecond)
	e.StartLine(p.Measurement)
	for _, t := range p.Tags {
		e.AddTag(t.Key, t.Value)
	}
	for _, f := range p.Fields {
		v, ok := lineprotocol.NewValue(f.Value)
		if !ok {
			return to, fmt.Errorf("encoding a point of %s: field %s has the value %v, which the line protocol cannot carry", p.Measurement, f.Key, f.Value)
		}
		e.AddField(f.Key, v)
	}
	e.EndLine(p.Time)
	if err := e.Err(); err != nil {
		return to, fmt.Errorf("encoding a point of %s: %w", p.Measurement, err)
	}
	return append(append(to, bytes.TrimRight(e.Bytes(), "\n")...), '\n'), nil
}

// Lines are points in the line protocol. It fails on the first that cannot be written.
func Lines(points []Point) ([][]byte, error) {
	lines := make([][]byte, len(points))
	for i, p := range points {
		var err error
		if lines[i], err = p.AppendLine(nil); err != nil {
			return nil, err
		}
	}
	return lines, nil
}
