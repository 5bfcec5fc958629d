package verify

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/traffic"
)

// Document verifies a result. The digest of its content is checked by Content, which has the
// document as it is stored.
func Document(d *report.Document) *Verdict {
	v := &Verdict{Digest: "not checked"}
	p := planOfDocument(d)
	for i := range d.Rows {
		if d.Rows[i].Repeated != nil {
			v.repeated(d, &d.Rows[i])
			continue
		}
		v.row(d, p, &d.Rows[i])
	}
	for i := range d.Repetitions {
		v.row(d, p, &d.Repetitions[i])
	}
	v.gates(d)
	v.outcome(d)
	return v
}

func planOfDocument(d *report.Document) *plan.Plan {
	if d.Profile == nil || d.Bed == nil {
		return nil
	}
	meta := metav1.ObjectMeta{Namespace: d.Benchmark.Namespace, Name: d.Benchmark.Name}
	return planOf(&v1alpha1.Benchmark{ObjectMeta: meta, Spec: d.Spec},
		&v1alpha1.TrafficProfile{ObjectMeta: metav1.ObjectMeta{Name: "profile"}, Spec: *d.Profile},
		&v1alpha1.TestBed{ObjectMeta: metav1.ObjectMeta{Name: d.TestBed}, Spec: *d.Bed})
}

// row verifies one row.
func (v *Verdict) row(d *report.Document, p *plan.Plan, row *v1alpha1.ResultRow) {
	c := &check{doc: d, row: row, out: v, plan: p, done: map[string]bool{}}
	c.paths, c.values = figures(row)
	for _, t := range d.Spec.Tests {
		if t.Name == row.Test {
			c.test = t
		}
	}
	if row.TrialRecords != nil {
		c.log = *row.TrialRecords
	}
	c.trials = c.log.Trials
	for i := range c.trials {
		if c.trials[i].Decides {
			c.decides = &c.trials[i]
		}
	}
	c.takeSearch()
	if row.TrialRecords == nil && row.Trials > 0 && (row.Frames == nil || row.Frames.Sent > 0) {
		addName(&v.WithoutTrials, row.Name())
		return
	}
	c.records()
	c.counts()
	if verify := methods[row.Method]; verify != nil {
		verify(c)
	}
	c.latencies()
	c.classes()
	c.microflows()
	c.series()
	c.portLoads()
	c.validity()
	for _, path := range c.paths {
		if !c.done[path] {
			addName(&v.Unchecked, string(row.Method)+" "+fieldOf(path))
		}
	}
}

// takeSearch takes the trials of the throughput row for a partial drop rate that its search found.
func (c *check) takeSearch() {
	if c.row.Method != v1alpha1.MethodPartialDropRate || c.row.Trials > 0 {
		return
	}
	rows := c.rows()
	for i := range rows {
		r := &rows[i]
		if r.Method == v1alpha1.MethodThroughput && r.Repetition == c.row.Repetition && r.Test == c.row.Test && r.Variant == c.row.Variant && r.SizeName() == c.row.SizeName() && r.TrialRecords != nil {
			c.copied, c.trials = true, r.TrialRecords.Trials
			c.log.Omitted, c.log.OmittedSendingNs = r.TrialRecords.Omitted, r.TrialRecords.OmittedSendingNs
		}
	}
}

// records checks the trials themselves.
func (c *check) records() {
	n := int64(c.log.Omitted)
	var before, sending int64
	for i := range c.log.Trials {
		r := &c.log.Trials[i]
		field := fmt.Sprintf("trialRecords.trials[%d].", i)
		if r.DurationNs > 0 || r.Sent > 0 || r.Intended > 0 {
			n++
		}
		if c.log.Omitted == 0 && !c.copied && int64(r.Number) != before+1 {
			c.mismatch(field+"number", fmt.Sprint(r.Number), fmt.Sprint(before+1))
		}
		before, sending = int64(r.Number), sending+min(r.SendingNs, r.DurationNs)
		c.record(r, field)
	}
	if c.copied {
		n = 0
	}
	if c.row.TrialRecords == nil {
		c.is("trials", 0)
		c.agrees("elapsedMilliseconds", true, "")
		return
	}
	c.is("trials", n)
	if !c.copied && c.log.ElapsedNs < sending {
		c.mismatch("trialRecords.elapsedNs", fmt.Sprint(c.log.ElapsedNs), fmt.Sprintf("%d or more, the sending time of the trials", sending))
	}
	c.is("elapsedMilliseconds", c.log.ElapsedNs/million)
}

// record checks the counts of one trial for consistency, and its verdict.
func (c *check) record(r *v1alpha1.TrialRecord, field string) {
	bad := func(name string, got int64, holds bool, want string) {
		if !holds {
			c.mismatch(field+name, fmt.Sprint(got), want)
		}
	}
	frames := r.DurationNs > 0 || r.Sent > 0
	bad("lost", r.Lost, r.Lost <= r.Expected, fmt.Sprintf("at most %d, the expected frames", r.Expected))
	if frames {
		all := r.Received - r.Excess
		bad("received", r.Received, all+r.Lost == r.Expected, fmt.Sprintf("%d, the expected frames without the lost ones", r.Expected-r.Lost+r.Excess))
		if !c.delays() {
			bad("expected", r.Expected, r.Sent == 0 && r.Expected == 0 || r.Sent > 0 && r.Expected >= r.Sent, fmt.Sprintf("%d or more, the sent frames", r.Sent))
		}
		bad("reordered", r.Reordered, r.Reordered <= r.Received, fmt.Sprintf("at most %d, the received frames", r.Received))
		bad("forwardingRate", r.ForwardingRate, r.ForwardingRate <= rate(r.Received, max(r.DurationNs, r.SendingNs, 1), second)+1, "at most what was received over the sending time")
		short := because(r, v1alpha1.TrialShortOfLoad)
		passed := !short && r.Lost <= r.Unreachable && r.Excess == 0
		bad("sent", r.Sent, short || r.Sent == r.Intended || r.Sent > r.Intended, fmt.Sprintf("%d, as the load was offered", r.Intended))
		if r.Verdict != v1alpha1.TrialVoid && passed != (r.Verdict == v1alpha1.TrialPassed) {
			want := v1alpha1.TrialFailed
			if passed {
				want = v1alpha1.TrialPassed
			}
			c.mismatch(field+"verdict", string(r.Verdict), string(want))
		}
	}
	if l := r.Latency; l != nil {
		c.latencyRecord(l, field+"latency.")
		bad("latency.count", l.Count, l.Count <= r.Received+r.Duplicate+r.Late+r.Flooded, fmt.Sprintf("at most %d, the received frames", r.Received))
	}
	for _, f := range r.Figures {
		low, high := ratio(f.Min, 1), ratio(f.Max, 1)
		mean := ratio(f.Sum, f.Count)
		bad("figures "+f.Name, f.Sum, f.Count > 0 && mean.Cmp(low) >= 0 && mean.Cmp(high) <= 0, "a sum whose mean is from min to max")
	}
}

// latencyRecord checks sums of a latency for consistency.
func (c *check) latencyRecord(l *v1alpha1.LatencyRecord, field string) {
	mean := ratio(l.SumNs, l.Count)
	if l.Count == 0 || mean.Cmp(ratio(l.MinNs, 1)) < 0 || mean.Cmp(ratio(l.MaxNs, 1)) > 0 {
		c.mismatch(field+"sumNs", fmt.Sprint(l.SumNs), "a sum whose mean is from minNs to maxNs")
	}
	n := int64(0)
	for i := 1; i < len(l.Buckets); i += 2 {
		n += l.Buckets[i]
	}
	if len(l.Buckets) > 0 && n != l.Count {
		c.mismatch(field+"buckets", fmt.Sprint(n)+" frames", fmt.Sprint(l.Count)+" frames")
	}
}

// delays reports whether the method does not know how many frames were to arrive.
func (c *check) delays() bool {
	return c.row.Method == v1alpha1.MethodGroupJoinDelay || c.row.Method == v1alpha1.MethodGroupLeaveDelay || c.row.Method == v1alpha1.MethodAddressCaching || c.row.Method == v1alpha1.MethodAddressLearning
}

// counts recomputes the counts of the row from the trial that decided it.
func (c *check) counts() {
	r := c.decides
	if c.row.Frames == nil {
		return
	}
	if r == nil {
		c.withoutTrial()
		for _, path := range c.paths {
			if strings.HasPrefix(path, "frames.") {
				c.agrees(path, true, "")
			}
		}
		return
	}
	for field, want := range map[string]int64{
		"sent": r.Sent, "received": r.Received, "lost": r.Lost, "trialMilliseconds": r.DurationNs / million,
	} {
		c.is("frames."+field, want)
	}
	for field, want := range map[string]int64{
		"duplicate": r.Duplicate, "reordered": r.Reordered, "outOfSequence": r.OutOfSequence, "congested": r.Congested, "late": r.Late,
		"truncated": r.Truncated, "corrupted": r.Corrupted, "fragmented": r.Fragmented,
		"cnp.sent": figureOf(r, "cnpsSent"), "cnp.received": figureOf(r, "cnpsReceived"),
		"lostByEvent":  min(r.Unreachable, r.Lost),
		"congestedPPM": sharePPM(r.Congested, r.Received),
		"lossPPM":      sharePPM(r.Lost, r.Expected), "receivedFramesPerSecond": rate(r.Received, max(r.DurationNs, r.SendingNs), second),
	} {
		c.ifAny("frames."+field, want)
	}
	c.is("frames.doubtfulLost", figureOf(r, "doubtfulLost"))
	c.flowControl(r)
	stale := c.figure("stale").sum
	for i := range c.trials {
		stale += c.trials[i].Stale
	}
	if stale > 0 {
		c.agrees("frames.stale", c.value("frames.stale") <= stale, fmt.Sprintf("at most %d", stale))
	} else {
		c.ifAny("frames.stale", 0)
	}
}

// flowControl recomputes the frames of flow control of the row from a trial.
func (c *check) flowControl(r *v1alpha1.TrialRecord) {
	s := c.row.Frames.FlowControl
	if s == nil {
		return
	}
	c.ifAny("frames.flowControl.pauseFrames", figureOf(r, "pauseFrames"))
	var listed []v1alpha1.PriorityFrames
	all := int64(0)
	for priority := range int32(traffic.Priorities) {
		if n := figureOf(r, fmt.Sprintf("pfcFrames%d", priority)); n > 0 {
			all += n
			listed = append(listed, v1alpha1.PriorityFrames{Priority: priority, Frames: n})
		}
	}
	c.ifAny("frames.flowControl.pfcFrames", all)
	for i := range s.PFCPriorities {
		var want v1alpha1.PriorityFrames
		if i < len(listed) {
			want = listed[i]
		}
		prefix := fmt.Sprintf("frames.flowControl.pfcPriorities[%d].", i)
		c.is(prefix+"priority", int64(want.Priority))
		c.is(prefix+"frames", want.Frames)
	}
}

// latencies recomputes the latency of the row and of its ports.
func (c *check) latencies() {
	var l *v1alpha1.LatencyRecord
	if c.decides != nil {
		l = c.decides.Latency
	}
	if c.row.Latency != nil {
		if l == nil {
			c.ordered("latency.")
		} else {
			c.latency("latency.", l)
			c.ifAny("latency.timedFrames", l.Count)
		}
	}
	for i := range c.row.MulticastLatency {
		prefix := fmt.Sprintf("multicastLatency[%d].", i)
		if p := c.portPart(c.row.MulticastLatency[i].Port); p != nil && p.Latency != nil {
			c.is(prefix+"avgNs", nearest(ratio(p.Latency.SumNs, p.Latency.Count)))
			c.is(prefix+"minNs", p.Latency.MinNs)
			c.is(prefix+"maxNs", p.Latency.MaxNs)
			continue
		}
		c.ordered(prefix)
	}
}

func (c *check) portPart(name string) *v1alpha1.TrialPart { return part(c.decides, name) }

// latency recomputes the figures of one latency.
func (c *check) latency(prefix string, l *v1alpha1.LatencyRecord) {
	c.is(prefix+"minNs", l.MinNs)
	c.is(prefix+"maxNs", l.MaxNs)
	c.is(prefix+"avgNs", nearest(ratio(l.SumNs, l.Count)))
	c.ifAny(prefix+"jitterAvgNs", nearest(ratio(l.JitterSumNs, l.JitterCount)))
	c.ifAny(prefix+"jitterMaxNs", l.JitterMaxNs)
	percentiles := []string{"p50Ns", "p90Ns", "p99Ns", "p999Ns"}
	if len(l.Buckets) == 0 {
		c.ordered(prefix)
		return
	}
	for i, perMille := range []int64{500, 900, 990, 999} {
		c.ifAny(prefix+percentiles[i], percentile(l, perMille))
	}
}

// ordered checks that the figures of a latency rise.
func (c *check) ordered(prefix string) {
	low, high := c.value(prefix+"minNs"), c.value(prefix+"maxNs")
	c.between(prefix+"avgNs", low, high)
	before := low
	for _, name := range []string{"p50Ns", "p90Ns", "p99Ns", "p999Ns"} {
		if now := c.value(prefix + name); c.has(prefix+name) && now > 0 {
			c.between(prefix+name, before, high)
			before = now
		}
		c.agrees(prefix+name, true, "")
	}
	c.agrees(prefix+"minNs", low <= high, fmt.Sprintf("at most %d", high))
	c.agrees(prefix+"maxNs", low <= high, fmt.Sprintf("at least %d", low))
	c.agrees(prefix+"timedFrames", c.value(prefix+"timedFrames") <= c.value("frames.received"), "at most the received frames")
	c.agrees(prefix+"jitterAvgNs", c.value(prefix+"jitterAvgNs") <= c.value(prefix+"jitterMaxNs"), "at most jitterMaxNs")
	c.agrees(prefix+"jitterMaxNs", c.value(prefix+"jitterAvgNs") <= c.value(prefix+"jitterMaxNs"), "at least jitterAvgNs")
}

// classes recomputes the counts of groups, classes and flows.
func (c *check) classes() {
	r := c.decides
	if m := c.row.Multicast; m != nil && r != nil {
		if i := slices.IndexFunc(r.Figures, func(f v1alpha1.TrialFigure) bool { return f.Name == "groupFrames" }); i >= 0 {
			f := r.Figures[i]
			took := max(r.DurationNs, r.SendingNs)
			c.is("multicast.groups", f.Count)
			c.is("multicast.minFrames", f.Min)
			c.is("multicast.maxFrames", f.Max)
			c.is("multicast.minFramesPerSecond", rate(f.Min, took, second))
			c.is("multicast.maxFramesPerSecond", rate(f.Max, took, second))
		}
		most := 0
		if c.plan != nil {
			for _, s := range c.plan.Streams {
				if s.Headers.DstIP.IsMulticast() {
					most = max(most, len(s.Rx))
				}
			}
			c.is("multicast.receivers", int64(most))
		}
		c.between("multicast.receivers", 1, 1<<20)
	}
	if c.row.Classes != nil {
		c.class("classes.multicast.", part(r, plan.ClassMulticast))
		c.class("classes.unicast.", part(r, plan.ClassUnicast))
	}
	for i := range c.row.Flows {
		prefix := fmt.Sprintf("flows[%d].", i)
		p := part(r, c.row.Flows[i].Name)
		c.class(prefix, p)
		switch {
		case c.row.Flows[i].Latency == nil:
		case p != nil && p.Latency != nil:
			c.latency(prefix+"latency.", p.Latency)
		default:
			c.ordered(prefix + "latency.")
		}
	}
}

func (c *check) class(prefix string, p *v1alpha1.TrialPart) {
	if p == nil {
		return
	}
	took := max(c.decides.DurationNs, c.decides.SendingNs)
	c.is(prefix+"sent", p.Sent)
	c.is(prefix+"received", p.Received)
	c.is(prefix+"lost", p.Lost)
	c.is(prefix+"offeredFramesPerSecond", rate(p.Sent, took, second))
	c.is(prefix+"receivedFramesPerSecond", rate(p.Received, took, second))
}

func cutSuffix(text, suffix string) (string, bool) { return strings.CutSuffix(text, suffix) }

// Content checks the digest of the content of a document as it is stored, as JSON or YAML.
func (v *Verdict) Content(text []byte) error {
	contained, computed, err := report.Digests(text)
	switch {
	case err != nil:
		return err
	case contained == "":
		v.Digest = "absent"
	case contained == computed:
		v.Digest = "as contained"
	default:
		v.Digest = "differs"
		v.wrong("contentDigest", contained, computed)
	}
	return nil
}

// rows returns the rows among which others of the same measurement are: the repetitions for a row
// that is one of them.
func (c *check) rows() []v1alpha1.ResultRow {
	if c.row.Repetition > 0 {
		return c.doc.Repetitions
	}
	return c.doc.Rows
}

// microflows checks the counts of microflows: the row has sums only.
func (c *check) microflows() {
	m := c.row.Microflows
	if m == nil {
		return
	}
	const in = "microflows."
	sum := m.Complete + m.Lossy + m.Silent
	for _, name := range []string{"tracked", "complete", "lossy", "silent"} {
		c.agrees(in+name, m.Tracked == sum, "a number with which tracked is the sum of complete, lossy and silent")
	}
	c.agrees(in+"leastReceived", m.LeastReceived <= m.MostReceived && (m.Silent == 0 || m.LeastReceived == 0), "at most mostReceived, and 0 if one is silent")
	c.agrees(in+"mostReceived", m.LeastReceived <= m.MostReceived && (c.decides == nil || m.MostReceived <= c.decides.Received), "from leastReceived to the received frames")
	for i, bad := range m.Bad {
		at := fmt.Sprintf("%sbad[%d].", in, i)
		c.agrees(at+"sent", bad.Sent > bad.Received, "more than received")
		c.agrees(at+"received", bad.Received <= m.MostReceived, "at most mostReceived")
	}
	c.agrees(in+"unsent", true, "")
}
