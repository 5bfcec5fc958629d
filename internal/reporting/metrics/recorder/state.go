package recorder

import (
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
)

// State is the state that a recorder writes to its log, for kubectl nodrop doctor. It contains
// no secret.
type State struct {
	// Rows and Series wait for the database, which did not take those that are Refused. Bytes
	// is what all take in the spool, of Limit at most.
	Rows    int64 `json:"rows"`
	Series  int64 `json:"series"`
	Refused int64 `json:"refused"`
	Bytes   int64 `json:"bytes"`
	Limit   int64 `json:"limit"`
	// Dropped is the number of samples and trials that were dropped for lack of room since the
	// spool was made.
	Dropped uint64 `json:"dropped"`
	// Oldest is the time of the first point that waits; zero when none does.
	Oldest time.Time `json:"oldest,omitzero"`
	// Problem is the reason why the database accepts no points, since Since; empty while it
	// does.
	Problem string    `json:"problem,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// StateOf is the state of a recorder whose spool takes so many bytes.
func StateOf(s delivery.Stats, oldest time.Time, limit int64) State {
	state := State{
		Rows: s.Rows.Points, Series: s.Series.Points, Refused: s.Refused.Points,
		Bytes: s.Rows.Bytes + s.Series.Bytes + s.Refused.Bytes, Limit: limit, Dropped: s.Dropped, Oldest: oldest, Problem: s.Problem,
	}
	if s.Problem != "" {
		state.Since = s.Since.UTC().Truncate(time.Second)
	}
	return state
}

const stateKey = "state"

// Log writes the state.
func (s State) Log(log *slog.Logger) {
	text, err := json.Marshal(s)
	if err != nil {
		text = nil // A State has only what JSON can carry.
	}
	log.Info("the recorder's spool", stateKey, string(text))
}

// LastState is the last state in a log.
func LastState(log string) (state State, found bool) {
	for line := range strings.SplitSeq(log, "\n") {
		_, quoted, is := strings.Cut(line, " "+stateKey+"=")
		text, err := strconv.Unquote(quoted)
		var s State
		if is && err == nil && json.Unmarshal([]byte(text), &s) == nil {
			state, found = s, true
		}
	}
	return state, found
}
