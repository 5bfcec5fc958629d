package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

// maxTestSentences is the maximum number of sentences about tests at the head of a report.
const maxTestSentences = 2

// summary are at most three sentences with the main results: about the first tests, and about the
// validity of their rows. They are of conclusive rows only.
func (d *Document) summary() []string {
	if len(d.Rows) == 0 {
		return nil
	}
	var texts []string
	for _, t := range d.byTest() {
		if len(texts) < maxTestSentences {
			texts = append(texts, d.testSentences(t)...)
		}
	}
	return append(texts[:min(len(texts), maxTestSentences)], d.validitySentence())
}

// testSentences describe the result of a test. A throughput test has a sentence about rates, and
// one about latency.
func (d *Document) testSentences(t testResults) []string {
	conclusive := d.conclusive(t)
	if len(conclusive) == 0 {
		return []string{fmt.Sprintf("Test %s has no row that can be judged by.", t.name())}
	}
	if method.IsThroughput(&t.rows[0]) {
		lossless := slices.DeleteFunc(conclusive, func(r v1alpha1.ResultRow) bool { return r.LossRatioPPM > 0 })
		return d.throughputSentences(t, lossless)
	}
	row := conclusive[0]
	if len(conclusive) == 1 {
		if text := d.rowSentence(t, &row); text != "" {
			return []string{spaced(htmlText(text))}
		}
	}
	if text := incastSentence(conclusive); text != "" {
		return []string{spaced(htmlText(text))}
	}
	rows, figures := d.figuresOf(t)
	if len(figures) == 0 {
		return nil
	}
	name := keyFigureOf(row.Method).name
	if len(figures) == 1 {
		return []string{fmt.Sprintf("Test %s: %s (%s).", t.name(), figures[0].Text, name)}
	}
	return []string{fmt.Sprintf("Test %s: %s in %s (%s).", t.name(), strings.Replace(valueRange(figures), " – ", " to ", 1), layout.Quantity(int64(len(rows)), "row"), name)}
}

// rowSentence describes the only row of a test; empty where its figure has no sentence of its own.
func (d *Document) rowSentence(t testResults, row *v1alpha1.ResultRow) string {
	unseen := func(n int32) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf(" The end of %s was not seen.", layout.Quantity(int64(n), "event"))
	}
	switch {
	case row.Convergence != nil:
		s := row.Convergence
		return fmt.Sprintf("%s of %s routes: announced routes carry traffic after %s, and withdrawn ones cease after %s, on average.", layout.Quantity(int64(s.Cycles), "cycle"),
			layout.Group(s.Routes), trials.TimeText(s.Announce.AvgNs), trials.TimeText(s.Withdraw.AvgNs)) + unseen(s.Announce.Unseen+s.Withdraw.Unseen)
	case row.RouteFlap != nil:
		s := row.RouteFlap
		return fmt.Sprintf("When %s of %s routes flap, traffic takes up to %s to settle; %s to these routes and %s to stable ones are lost.", layout.Group(s.Flapped), layout.Group(s.Routes),
			trials.TimeText(max(s.Withdraw.MaxNs, s.Announce.MaxNs)), layout.Quantity(s.FlappedLost, "frame"), layout.Group(s.StableLost)) + unseen(s.Withdraw.Unseen+s.Announce.Unseen)
	case row.RouteCapacity != nil && row.RouteCapacity.Full:
		return fmt.Sprintf("%s holds %s routes, and not all of %s.", sentence(d.subject()), layout.Group(row.RouteCapacity.Routes), layout.Group(row.RouteCapacity.Announced))
	case row.RouteCapacity != nil:
		return fmt.Sprintf("%s holds all %s routes that were announced; its limit was not reached.", sentence(d.subject()), layout.Group(row.RouteCapacity.Routes))
	case t.test != nil && t.test.Soak != nil && row.Frames != nil && row.Frames.LossPPM != nil:
		return fmt.Sprintf("In %s at %s %s of %s frames %s lost (%s).", human.Duration(t.test.Soak.Duration.Duration), row.Load, layout.Group(row.Frames.Lost),
			layout.Group(row.Frames.Received+row.Frames.Lost), map[bool]string{true: "is", false: "are"}[row.Frames.Lost == 1], layout.Share(row.Frames.Lost, row.Frames.Received+row.Frames.Lost))
	}
	return ""
}

// throughputSentences describe the throughput by size, and the latency at it.
func (d *Document) throughputSentences(t testResults, rows []v1alpha1.ResultRow) []string {
	if len(rows) == 0 {
		return []string{fmt.Sprintf("Test %s has no row that can be judged by.", t.name())}
	}
	texts := []string{d.rateSentence(t, rows)}
	var timed []v1alpha1.ResultRow
	for _, row := range rows {
		if row.Latency != nil && row.Frames.OrZero().Lost == 0 && !method.FoundNothing(&row) {
			timed = append(timed, row)
		}
	}
	if len(timed) > 0 {
		byAverage := func(a, b v1alpha1.ResultRow) int { return cmp.Compare(a.Latency.AvgNs, b.Latency.AvgNs) }
		low, high := slices.MinFunc(timed, byAverage), slices.MaxFunc(timed, byAverage)
		if low.Latency.AvgNs == high.Latency.AvgNs {
			texts = append(texts, fmt.Sprintf("At that load a frame takes %s µs on average.", layout.Micros(low.Latency.AvgNs)))
		} else {
			texts = append(texts, fmt.Sprintf("At that load a frame takes %s µs (%s) to %s µs (%s) on average.", layout.Micros(low.Latency.AvgNs), sizeLabel(&low), layout.Micros(high.Latency.AvgNs), sizeLabel(&high)))
		}
	}
	return texts
}

// rateSentence describes the throughput by size: "Line rate from 512 B. 64 B reaches 31.4%, limited
// by the device."
func (d *Document) rateSentence(t testResults, rows []v1alpha1.ResultRow) string {
	full := func(row *v1alpha1.ResultRow) bool {
		return trials.Offered(row).LineRatePPM > 0 && atHighestLoad(t.test, row)
	}
	best := "line rate"
	for i := range rows {
		if full(&rows[i]) && !isLineRate(&rows[i]) {
			best = shareText(&rows[i]) + ", the highest tested load,"
		}
	}
	if ofFullLoad(rows) {
		best = "full load"
	}
	first := len(rows)
	for first > 0 && full(&rows[first-1]) {
		first--
	}
	var texts []string
	switch {
	case first == 0 && len(rows) == 1:
		texts = append(texts, fmt.Sprintf("%s reaches %s.", sizeLabel(&rows[0]), strings.TrimSuffix(best, ",")))
	case first == 0 && !d.leftOut(t):
		texts = append(texts, sentence(best+" at every size."))
	case first == len(rows)-1 && first > 0:
		texts = append(texts, sentence(fmt.Sprintf("%s at %s.", best, sizeLabel(&rows[first]))))
	case first < len(rows) && d.leftOut(t):
		// A size between these may be slower: it is not known.
		texts = append(texts, sentence(fmt.Sprintf("%s at %s.", best, labelsOf(rows[first:], t.rows))))
	case first < len(rows):
		texts = append(texts, sentence(fmt.Sprintf("%s from %s.", best, sizeLabel(&rows[first]))))
	}
	below := slices.DeleteFunc(slices.Clone(rows), func(r v1alpha1.ResultRow) bool { return full(&r) })
	if len(below) > 0 {
		slices.SortStableFunc(below, func(a, b v1alpha1.ResultRow) int {
			return cmp.Compare(trials.Offered(&a).LineRatePPM, trials.Offered(&b).LineRatePPM)
		})
		worst := below[0]
		text := fmt.Sprintf("%s reaches %s", sizeLabel(&worst), shareText(&worst))
		if method.FoundNothing(&worst) {
			text = sizeLabel(&worst) + " passes at no tested load"
		}
		texts = append(texts, text+", "+d.limit(&worst)+".")
	}
	return strings.Join(texts, " ")
}

// shareText is the load of a row as its figure writes it.
func shareText(row *v1alpha1.ResultRow) string {
	figure, _ := trials.LoadFigure(row)
	if trials.OfFullLoad(row) {
		return figure.Text
	}
	return figure.Text + " of line rate"
}

// leftOut reports whether a row of a test may not be judged by.
func (d *Document) leftOut(t testResults) bool { return len(d.conclusive(t)) < len(t.rows) }

// isLineRate reports whether a row is of all of line rate.
func isLineRate(row *v1alpha1.ResultRow) bool {
	return row.Frames.OrZero().LineRatePPM >= v1alpha1.PPM && !trials.OfferedOther(row)
}

// atHighestLoad reports whether a throughput is the highest load that its test tries, so that no
// higher one is known to fail.
func atHighestLoad(test *v1alpha1.Test, row *v1alpha1.ResultRow) bool {
	if isLineRate(row) {
		return true
	}
	if test == nil || test.Throughput == nil || trials.OfferedOther(row) {
		return false
	}
	return string(test.Throughput.MaxLoad) == string(v1alpha1.FormatPPM(row.Frames.OrZero().LineRatePPM))
}

// limit names what bounds the throughput of a conclusive row.
func (d *Document) limit(row *v1alpha1.ResultRow) string {
	if !result.Trusted(row.Validity) {
		return "limited by the tester"
	}
	return "limited by " + d.subjectOf(row.Validity)
}

// subject names the device as the validity of the rows allows.
func (d *Document) subject() string {
	for _, v := range []v1alpha1.Validity{v1alpha1.ValiditySimulated, v1alpha1.ValidityVirtual} {
		if slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Validity == v }) {
			return d.subjectOf(v)
		}
	}
	return "the device"
}

func (d *Document) subjectOf(v v1alpha1.Validity) string {
	switch v {
	case v1alpha1.ValiditySimulated:
		return "the modelled device"
	case v1alpha1.ValidityVirtual:
		return "the virtual device and the processors that it shares"
	}
	return "the device"
}

// validitySentence describes which rows the other sentences are of.
func (d *Document) validitySentence() string {
	if doubt := d.inconclusive(); doubt > 0 {
		var words []string
		for _, v := range validities {
			if slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool {
				return r.Validity == v.validity && !result.Conclusive(d.device(), &r)
			}) {
				words = append(words, string(v.validity))
			}
		}
		return fmt.Sprintf("%d of %s in doubt (%s), and left out here.", doubt, rowsAre(len(d.Rows)), strings.Join(words, ", "))
	}
	switch {
	case d.simulated():
		return "Every figure was computed from a model, and nothing was measured."
	case slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Validity == v1alpha1.ValidityVirtual }):
		return "The device is software on shared processors: the figures are no claim about hardware."
	case len(d.Rows) == 1:
		return "The row is a valid measurement."
	}
	return fmt.Sprintf("All %d rows are valid measurements.", len(d.Rows))
}

func rowsAre(n int) string {
	if n == 1 {
		return "1 row is"
	}
	return layout.Group(int64(n)) + " rows are"
}

// inconclusive counts the rows that may not be judged by.
func (d *Document) inconclusive() int {
	count := 0
	for i := range d.Rows {
		if !result.Conclusive(d.device(), &d.Rows[i]) {
			count++
		}
	}
	return count
}
