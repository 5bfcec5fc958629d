package doctor

import (
	"fmt"
	"time"
)

// recorderOf checks the metrics recorder and reports the data that waits for the database. No
// engine needs the recorder.
func recorderOf(f Facts, _ Engine) verdict {
	r := f.Recorder.Value
	switch {
	case !f.Recorder.IsKnown():
		return warning(f.Recorder.Unknown.Why, f.Recorder.Unknown.Advice)
	case r == nil:
		return verdict{}
	case !r.Ready:
		return warning("its pod is not ready: runs go on, and the operator hands their rows over later",
			"see kubectl describe pods -n "+f.Namespace+" -l app.kubernetes.io/component=recorder")
	case r.State == nil:
		return warning("its log says nothing of the spool", "see its log")
	}
	s := r.State
	seen := fmt.Sprintf("%d rows and %d samples and trials wait for the database", s.Rows, s.Series)
	if s.Rows+s.Series == 0 {
		seen = "nothing waits for the database"
	}
	if !s.Oldest.IsZero() {
		seen += ", the first of " + s.Oldest.Format(time.RFC3339)
	}
	seen += fmt.Sprintf("; %d of %d bytes are used", s.Bytes, s.Limit)
	if s.Refused > 0 {
		seen += fmt.Sprintf("; the database refused %d points", s.Refused)
	}
	if s.Dropped > 0 {
		seen += fmt.Sprintf("; %d samples and trials had no room and were dropped", s.Dropped)
	}
	switch {
	case s.Problem != "":
		return warning(fmt.Sprintf("%s; the database takes none since %s: %s", seen, s.Since.Format(time.RFC3339), s.Problem),
			"see docs/metrics.md, and recorder.url, its bucket or database, and the token of the chart's recorder.tokenSecret")
	case s.Refused > 0:
		return warning(seen, "see the reason in the recorder's log: a field that has another type in the database is the usual one")
	}
	return good(seen)
}
