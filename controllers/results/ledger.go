package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/repeated"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

const (
	// fullPart is the size of the rows, in bytes, that makes a part complete, and fullRows is
	// the number of rows that does.
	fullPart = 96 << 10
	fullRows = 256
	// maxPart bounds the bytes of rows in one part.
	maxPart = 120 << 10
	// maxBytes bounds the bytes of all rows with their trials: the 64 MiB that preflight allows. It
	// estimates rows without trials. Rows beyond are stored without the records of their trials.
	maxBytes = 64 << 20
)

// Ledger contains the stored part of one benchmark's result, and what was added since. It is
// made of the parts that are in the API, and discarded when a write fails: the next Open reads
// from the API what was written.
type Ledger struct {
	owner *v1alpha1.Benchmark
	parts []*part
	known map[v1alpha1.RowID]bool
	// rows in the order in which they were added, without their series and trials.
	rows        []v1alpha1.ResultRow
	environment *v1alpha1.ResultEnvironment
	// bytes of all rows that were added or stored, and the bound of rows with trials: maxBytes.
	bytes, bound int
}

// part is one object. Once it is complete and stored, only its digest is kept.
type part struct {
	object *v1alpha1.BenchmarkResult
	bytes  int
	dirty  bool
}

// ErrMissing means that a part of a result does not exist, although a later one does.
var ErrMissing = errors.New("is missing")

// New makes the ledger of a benchmark of whose result nothing is stored.
func New(owner *v1alpha1.Benchmark) *Ledger {
	return &Ledger{owner: owner, known: map[v1alpha1.RowID]bool{}, bound: maxBytes}
}

// Open makes the ledger of a benchmark from its stored parts, in any order. Only what the ledger needs
// of a part stays in memory. The error is that of the parts, or ErrMissing.
func Open(owner *v1alpha1.Benchmark, parts iter.Seq2[*v1alpha1.BenchmarkResult, error]) (*Ledger, error) {
	l := New(owner)
	rows := map[*part][]v1alpha1.ResultRow{}
	for object, err := range parts {
		if err != nil {
			return nil, err
		}
		p := &part{object: object}
		for _, row := range object.Spec.Rows {
			n, err := size(row)
			if err != nil {
				return nil, err
			}
			p.bytes, l.bytes = p.bytes+n, l.bytes+n
			rows[p] = append(rows[p], reduced(row))
		}
		p.shrink()
		l.parts = append(l.parts, p)
	}
	slices.SortFunc(l.parts, func(a, b *part) int { return cmp.Compare(a.object.Spec.Part, b.object.Spec.Part) })
	for i, p := range l.parts {
		if want := int32(i + 1); p.object.Spec.Part != want {
			return nil, fmt.Errorf("part %d of the result of benchmark %s %w: the next one is %s", want, owner.Name, ErrMissing, p.object.Name)
		}
		if !stored.Counts(owner, p.object) {
			continue
		}
		for _, row := range rows[p] {
			l.remember(row)
		}
		if p.object.Spec.Environment != nil {
			l.environment = p.object.Spec.Environment.DeepCopy()
		}
	}
	return l, nil
}

// Add takes over rows that are not there yet, and returns how many those are. A
// part that is full, and one of another test or variant, is complete from then on.
func (l *Ledger) Add(rows ...v1alpha1.ResultRow) (added int, _ error) {
	for _, row := range rows {
		if l.known[row.RowID] {
			continue
		}
		n, err := size(row)
		if err != nil {
			return added, err
		}
		if l.bytes+n > l.bound && row.TrialRecords != nil {
			row.TrialRecords = withoutTrials(row.TrialRecords)
			if n, err = size(row); err != nil {
				return added, err
			}
		}
		p, err := l.partFor(&row, n)
		if err != nil {
			return added, err
		}
		p.object.Spec.Rows = append(p.object.Spec.Rows, row)
		p.bytes, p.dirty, l.bytes = p.bytes+n, true, l.bytes+n
		l.remember(reduced(row))
		added++
	}
	return added, nil
}

// withoutTrials is a log that omits all trials.
func withoutTrials(log *v1alpha1.TrialLog) *v1alpha1.TrialLog {
	out := *log
	out.Omitted, out.Trials = log.Omitted+int32(len(log.Trials)), nil
	for i := range log.Trials {
		out.OmittedSendingNs += min(log.Trials[i].SendingNs, log.Trials[i].DurationNs)
	}
	return &out
}

// reduced returns a row without its series and trials.
func reduced(row v1alpha1.ResultRow) v1alpha1.ResultRow {
	row.Series, row.TrialRecords = nil, nil
	return row
}

// remember takes over a row that is reduced.
func (l *Ledger) remember(row v1alpha1.ResultRow) {
	l.known[row.RowID] = true
	l.rows = append(l.rows, row)
}

// partFor is the part that a row of n bytes goes into.
func (l *Ledger) partFor(row *v1alpha1.ResultRow, n int) (*part, error) {
	var open *part
	for _, p := range l.parts {
		spec := &p.object.Spec
		if spec.Complete || spec.Environment != nil {
			continue
		}
		if spec.Test == row.Test && spec.Variant == row.Variant &&
			p.bytes < fullPart && p.bytes+n <= maxPart && len(spec.Rows) < fullRows {
			open = p
			continue
		}
		if err := p.complete(); err != nil {
			return nil, err
		}
	}
	if open == nil {
		open = l.begin(row.Test, row.Variant)
	}
	return open, nil
}

func (l *Ledger) begin(test string, variant v1alpha1.VariantName) *part {
	p := &part{object: stored.NewPart(l.owner, int32(len(l.parts)+1), test, variant), dirty: true}
	l.parts = append(l.parts, p)
	return p
}

// SetEnvironment sets the environment of the rows. It is in a part of its own, which
// stays open to the end.
func (l *Ledger) SetEnvironment(e *v1alpha1.ResultEnvironment) {
	if e == nil || equality.Semantic.DeepEqual(e, l.environment) {
		return
	}
	e = e.DeepCopy()
	e.KeepConfigurations(l.environment)
	if equality.Semantic.DeepEqual(e, l.environment) {
		return // It lacks only what was known of earlier variants.
	}
	l.environment = e
	for _, p := range l.parts {
		if p.object.Spec.Environment != nil && !p.object.Spec.Complete {
			p.object.Spec.Environment, p.dirty = e.DeepCopy(), true
			return
		}
	}
	l.begin("", "").object.Spec.Environment = e.DeepCopy()
}

// Close makes all parts complete.
func (l *Ledger) Close() error {
	for _, p := range l.parts {
		if p.object.Spec.Complete {
			continue
		}
		if err := p.complete(); err != nil {
			return err
		}
	}
	return nil
}

// End makes all parts complete, and stores how the measurement ended in the last one of them.
// It reports whether there is one; if all are complete, nothing can be added.
func (l *Ledger) End(e v1alpha1.ResultEnding) (has bool, _ error) {
	for _, p := range slices.Backward(l.parts) {
		if !p.object.Spec.Complete {
			p.object.Spec.Ending = &e
			return true, l.Close()
		}
	}
	return false, nil
}

// Ending returns how the measurement of an attempt ended; nil if that is not stored.
func (l *Ledger) Ending(attempt int32) *v1alpha1.ResultEnding {
	for _, p := range slices.Backward(l.parts) {
		if e := p.object.Spec.Ending; e != nil && e.Attempt == attempt && stored.Counts(l.owner, p.object) {
			return e
		}
	}
	return nil
}

func (p *part) complete() error {
	digest, err := stored.PartDigest(&p.object.Spec)
	if err != nil {
		return fmt.Errorf("computing the digest of %s: %w", p.object.Name, err)
	}
	p.object.Spec.Complete, p.object.Spec.Digest, p.dirty = true, digest, true
	return nil
}

// shrink discards the content of a part that will not be written again.
func (p *part) shrink() {
	if p.object.Spec.Complete && !p.dirty {
		p.object.Spec.Rows = nil
	}
}

// Write calls write for every part that changed, in their order: a part is stored
// complete before the next one is begun. Write puts the answer of the API into the
// object. After an error the ledger must not be used.
func (l *Ledger) Write(write func(*v1alpha1.BenchmarkResult) error) error {
	for _, p := range l.parts {
		if !p.dirty {
			continue
		}
		if err := write(p.object); err != nil {
			return err
		}
		p.dirty = false
		p.shrink()
	}
	return nil
}

// Outdated reports whether another operator has written to the result since the ledger was
// opened, as the summary in the benchmark's status shows.
func (l *Ledger) Outdated(s *v1alpha1.ResultSummary) bool {
	discarded := int32(0)
	if l.owner.Status.Results != nil {
		discarded = l.owner.Status.Results.DiscardedParts
	}
	return s != nil && (s.Rows > int32(len(l.rows)) || s.Parts > int32(len(l.parts)) || s.DiscardedParts != discarded)
}

// Rows are all rows, without their series and trials, in the order in which they were added.
func (l *Ledger) Rows() []v1alpha1.ResultRow { return l.rows }

// Environment is the environment of the rows; nil when it is not known.
func (l *Ledger) Environment() *v1alpha1.ResultEnvironment { return l.environment }

// Summarize updates a summary from the ledger. Fields of others stay.
func (l *Ledger) Summarize(s *v1alpha1.ResultSummary) {
	s.Rows, s.Parts = int32(len(l.rows)), int32(len(l.parts))
	s.Validity, s.Headlines = result.Count(l.rows), result.Headlines(repeated.Merge(l.rows))
	s.Digest = ""
	digests := make([]string, len(l.parts))
	for i, p := range l.parts {
		if !p.object.Spec.Complete {
			return
		}
		digests[i] = p.object.Spec.Digest
	}
	if len(digests) > 0 {
		s.Digest = stored.Digest(digests)
	}
}

// size returns the number of bytes that a row takes in a list as JSON.
func size(row v1alpha1.ResultRow) (int, error) {
	text, err := jsonOf(row)
	return len(text) + 1, err
}

func jsonOf(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return text, nil
}
