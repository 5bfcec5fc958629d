package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// History writes the history of a benchmark.
type History struct {
	*history.History
	// banner states that the history is simulated; empty when it was measured.
	banner string
	// Links lead to other pages about the history.
	Links []Link
}

// HistoryFormats lists all formats of a History.
func HistoryFormats() []Format { return []Format{FormatTable, FormatJSON, FormatYAML, FormatHTML} }

// MaxHistoryRows is the maximum number of rows of a history, over all of its runs: the oldest runs beyond it
// are left out, and named. It is 1,000 rows in each of 250 runs.
const MaxHistoryRows = 250_000

// HistoryBuilder collects the results of a history. It keeps the figures of a document
// only, so that many and large ones can be added.
type HistoryBuilder struct {
	runs       []history.Run
	simulated  map[string]bool // by digest
	unreadable []history.Unreadable
}

// Skip adds results that could not be read: the history names them.
func (b *HistoryBuilder) Skip(unreadable ...history.Unreadable) {
	b.unreadable = append(b.unreadable, unreadable...)
}

// Add adds a result. It fails where the result cannot be identified.
func (b *HistoryBuilder) Add(d *Document) error {
	digest, err := history.Inputs(&d.Spec, d.Profile, d.TestBed, d.Bed)
	if err != nil {
		return err
	}
	info := history.RunInfo{UID: d.Benchmark.UID, NamespaceUID: d.Benchmark.NamespaceUID, Report: d.Report}
	if d.StartTime != nil {
		info.Time = *d.StartTime
	}
	if d.Environment != nil {
		info.Device = d.Environment.Device
	}
	b.runs = append(b.runs, history.NewRun(info, d.Benchmark.Namespace, d.history(), d.TestBed, digest, d.Rows))
	b.bound()
	if d.simulated() {
		if b.simulated == nil {
			b.simulated = map[string]bool{}
		}
		b.simulated[digest] = true
	}
	return nil
}

// bound leaves out the oldest runs beyond MaxHistoryRows; the two newest stay.
func (b *HistoryBuilder) bound() {
	total := 0
	for i := range b.runs {
		total += b.runs[i].Rows
	}
	for total > MaxHistoryRows && len(b.runs) > 2 {
		oldest := 0
		for i := range b.runs {
			if b.runs[i].Info.Time.Before(&b.runs[oldest].Info.Time) {
				oldest = i
			}
		}
		run := &b.runs[oldest]
		b.Skip(history.Unreadable{
			Name:   run.Info.UID,
			Reason: fmt.Sprintf("left out: it has %d rows, and a history has %d at most, of its newest runs", run.Rows, MaxHistoryRows),
		})
		total -= run.Rows
		b.runs = slices.Delete(b.runs, oldest, oldest+1)
	}
}

// History contains the earlier results with the same inputs as the latest result. It returns
// an error if no result was added.
func (b *HistoryBuilder) History() (*History, error) {
	if len(b.runs) == 0 && len(b.unreadable) > 0 {
		return nil, fmt.Errorf("no result can be read: %s", unreadableText(b.unreadable))
	}
	made, err := history.Make(b.runs)
	if err != nil {
		return nil, err
	}
	made.Unreadable = b.unreadable
	h := &History{History: made}
	if b.simulated[made.Digest] {
		h.banner = simulatedBanner
	}
	return h, nil
}

// Write writes the history in a format. The same history gives the same bytes.
func (h *History) Write(w io.Writer, format Format) error {
	var text []byte
	var err error
	switch format {
	case FormatJSON:
		text, err = indented(h.History)
	case FormatYAML:
		text, err = yaml.Marshal(h.History)
	case FormatHTML:
		text, err = h.html()
	default:
		text = []byte(h.on(layout.PaperOf(w)))
	}
	if err != nil {
		return fmt.Errorf("encoding the history as %s: %w", format, err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}

// day is the time of a run to the minute.
func day(t metav1.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// Regressed reports whether the last change of a figure was for the worse.
func (h *History) Regressed() bool {
	return slices.ContainsFunc(h.Lines, func(l history.Line) bool { return l.Regressed() })
}

// maxUnreadable is the maximum number of unreadable results that a sentence names.
const maxUnreadable = 3

// unreadableText names results that could not be read, and why.
func unreadableText(all []history.Unreadable) string {
	var named []string
	for _, u := range all[:min(len(all), maxUnreadable)] {
		named = append(named, u.String())
	}
	if more := len(all) - maxUnreadable; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s could not be read in two attempts (%s)", howMany(len(all), "result"), strings.Join(named, "; "))
}

// Verdict summarizes the history in one sentence: the largest regression with its size, bounds
// and first run, the number of other regressions, and the results that could not be read.
func (h *History) Verdict() string {
	text := h.worst()
	if len(h.Unreadable) > 0 {
		text += "; " + unreadableText(h.Unreadable)
	}
	return text
}

// worst describes the largest regression.
func (h *History) worst() string {
	var worst *history.Line
	more := -1
	size := func(l *history.Line) int64 {
		ppm := l.Changes[len(l.Changes)-1].ShiftPPM
		if ppm == nil {
			return 0
		}
		return max(*ppm, -*ppm)
	}
	for i := range h.Lines {
		if l := &h.Lines[i]; l.Regressed() {
			more++
			if worst == nil || size(l) > size(worst) {
				worst = l
			}
		}
	}
	if worst == nil {
		return fmt.Sprintf("no level of a figure became worse in %s", howMany(len(h.Runs), "run"))
	}
	c, text := worst.Changes[len(worst.Changes)-1], metricTexts[worst.Metric]
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s from %s to %s %s", testName(worst.Test, worst.Variant), rowName(worst.RowID), text.name, text.value(c.From), text.value(c.To), text.unit)
	if c.ShiftPPM != nil {
		fmt.Fprintf(&b, " (%s %%, with a confidence of 95 %% within %s and %s)", percent(*c.ShiftPPM), percent(*c.LowestPPM), percent(*c.HighestPPM))
	}
	fmt.Fprintf(&b, " since the run of %s UTC", day(h.Runs[c.Run].Time))
	if uid := h.Runs[c.Run].UID; uid != "" {
		fmt.Fprintf(&b, ", UID %s", uid)
	}
	if more > 0 {
		fmt.Fprintf(&b, "; %s became worse as well", howMany(more, "other figure"))
	}
	return b.String()
}
