package trials

import (
	"slices"
	"strings"
	"unicode"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// Definition contains the complete definition of a method: how a test is planned, run and
// reported. Each method's file describes its own, and list.go has them all.
type Definition struct {
	// Method contains the part of the definition that a plan needs.
	plan.Method
	// Run runs one step.
	Run Func
	// OwnGroups reports whether the method joins the multicast groups itself: it begins
	// without a membership, and nothing is learnt before it, as nothing would come.
	OwnGroups bool
	// OwnRoutes reports whether the method announces the routes itself: it begins with open
	// sessions on which nothing is announced.
	OwnRoutes bool
	// OwnSessions reports whether the method opens the sessions itself, and announces on them: it
	// begins without a session that it can rely on.
	OwnSessions bool
	// Purpose describes in one line what is measured, with the section of the RFC.
	// SampledPurpose replaces it if only a share of the frames was timed, if that makes a
	// difference.
	Purpose, SampledPurpose string
	// Caveat returns, as a sentence, in what a test differs from its purpose; empty if it does
	// not. It is nil for a method of which no test does.
	Caveat func(v1alpha1.Test) string
	// Columns are the figures of the method, in the order of the report's table. A method
	// without columns shows latency and jitter.
	Columns []Column
	// Events returns the number of times that each event of the event columns happened in
	// the trials of a row, and whether it is known; nil for a method without such columns.
	Events func(row *v1alpha1.ResultRow) (int64, bool)
	// Moments returns the times at which events are to begin in each trial of a test, in
	// their order; nil for a method whose times are not known in advance.
	Moments func(v1alpha1.Test) []Moment
	// Stable returns the series of the streams that the events do not affect; the row has
	// the series of the affected ones. It is nil for a method with one kind of streams.
	Stable func(row *v1alpha1.ResultRow) *v1alpha1.RateSeries
	// Headline is the most telling number of a row, and whether it has one; nil for a
	// method whose first column with a number is it.
	Headline func(row *v1alpha1.ResultRow) (Figure, bool)
	// Lossless reports whether a row without loss says more than one with loss.
	Lossless bool
	// Optional reports whether a step may turn out not to be needed, and then makes no row.
	Optional bool
	// Trials describes the trials of a test for the report's appendix.
	Trials func(v1alpha1.Test) string
	// Resolution returns the precision to which a test finds its load; nil if the load is
	// exact.
	Resolution func(v1alpha1.Test) v1alpha1.LoadAmount
}

// Unit of a column's numbers.
type Unit int

// The units.
const (
	// Number is a whole number: frames, frames/s.
	Number Unit = iota
	// PPM is a share in parts per million, printed as a percentage.
	PPM
	// Nanoseconds is a time, printed in microseconds.
	Nanoseconds
	// YesNo is 1 for yes and 0 for no.
	YesNo
	// LongNanoseconds is a time, printed in milliseconds.
	LongNanoseconds
	// BitsPerSecond is a rate, printed in Mbit/s.
	BitsPerSecond
)

// Column is one number of a result row.
type Column struct {
	// Heading and Name of the column. Columns that follow each other with one
	// heading stand under it together.
	Heading, Name string
	Unit          Unit
	// Event is the kind of event that the number is of; empty when it is of the row.
	Event string
	// Metric is the name by which gates ask for the number, where heading and name make
	// none that is unique.
	Metric string
	// Value is the row's number, and whether it has one.
	Value func(row *v1alpha1.ResultRow) (int64, bool)
	// OfSome reports whether only some tests of the method have the number: tables of the others leave
	// the column out.
	OfSome bool
	// Resolution returns by how much the number of a row can be too low or too high, since it
	// was read at intervals; nil if it is exact.
	Resolution func(row *v1alpha1.ResultRow) int64
}

// FullName is heading and name of the column in one: "burst avg".
func (c Column) FullName() string {
	heading, _, _ := strings.Cut(c.Heading, ", ")
	return strings.TrimSpace(heading + " " + c.Name)
}

// MetricName returns the name by which gates and intervals know the number.
func (c Column) MetricName() string {
	if c.Metric != "" {
		return c.Metric
	}
	return nameOf(c.FullName())
}

// nameOf makes a name of the words over a column: BurstAvg of "burst avg", and
// FramesPerSecond of "frames/s".
func nameOf(words string) string {
	words, _, _ = strings.Cut(words, ", ")
	words = strings.NewReplacer("/s", " per second", "%", " percent ").Replace(words)
	var name strings.Builder
	for _, word := range strings.FieldsFunc(words, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// RowColumns are the columns of a table of rows: they are of no event, and a number that only some tests
// have is in one of the rows.
func (d Definition) RowColumns(rows []v1alpha1.ResultRow) []Column {
	return slices.DeleteFunc(slices.Clone(d.Columns), func(c Column) bool {
		has := func(row v1alpha1.ResultRow) bool { _, has := c.Value(&row); return has }
		return c.Event != "" || c.OfSome && !slices.ContainsFunc(rows, has)
	})
}

// EventColumns are the columns of each kind of event, and the kinds in their order. All kinds
// have the same columns.
func (d Definition) EventColumns() (kinds []string, by map[string][]Column) {
	by = map[string][]Column{}
	for _, c := range d.Columns {
		if c.Event == "" {
			continue
		}
		if by[c.Event] == nil {
			kinds = append(kinds, c.Event)
		}
		by[c.Event] = append(by[c.Event], c)
	}
	return kinds, by
}

// Summary returns what one method measures from a row; nil for rows without it. It makes the
// columns and the headline of the method.
type Summary[S any] func(*v1alpha1.ResultRow) *S

// Number makes the value of a column from a number that every summary has.
func (s Summary[S]) Number(of func(*S) int64) func(*v1alpha1.ResultRow) (int64, bool) {
	return s.Optional(func(summary *S) *int64 { return new(of(summary)) })
}

// Optional makes the value of a column from a number that not every summary has.
func (s Summary[S]) Optional(of func(*S) *int64) func(*v1alpha1.ResultRow) (int64, bool) {
	return func(row *v1alpha1.ResultRow) (int64, bool) {
		if summary := s(row); summary != nil {
			return Pointed(of(summary))
		}
		return 0, false
	}
}

// Headline makes the Headline of a method from that of its summary.
func (s Summary[S]) Headline(of func(*S) Figure) func(*v1alpha1.ResultRow) (Figure, bool) {
	return func(row *v1alpha1.ResultRow) (Figure, bool) {
		if summary := s(row); summary != nil {
			return of(summary), true
		}
		return Figure{}, false
	}
}
