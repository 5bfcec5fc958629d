package service

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
)

const (
	// maxAnswerRows is the maximum number of rows in one answer, and maxAnswerBytes is the
	// maximum number of their bytes.
	maxAnswerRows  = 256
	maxAnswerBytes = 4 << 20
)

// Board contains the data that a runner and the operator exchange: the state and the log of
// the runner, and the stored rows of the operator. It is used from any goroutine.
type Board struct {
	mu    sync.Mutex
	id    string
	state runner.State
	// log has the rows as JSON, and bytes the size of each.
	log   []v1alpha1.ResultRow
	sizes []int
	given []v1alpha1.ResultRow
	known map[v1alpha1.RowID]bool
	begun chan struct{}
}

// NewBoard makes the board of a runner that waits to begin.
func NewBoard() *Board {
	return &Board{id: rand.Text(), known: map[v1alpha1.RowID]bool{}, begun: make(chan struct{})}
}

// Set shows another state; it is what runner.WithObserver wants.
func (b *Board) Set(state runner.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// Append adds a row to the log; it is what runner.WithLog wants.
func (b *Board) Append(row v1alpha1.ResultRow) {
	text, err := json.Marshal(row)
	size := len(text)
	if err != nil { // The answer that has the row fails likewise, and says so.
		size = maxAnswerBytes
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log, b.sizes = append(b.log, row), append(b.sizes, size)
}

// Begun is closed once the operator asked the runner to begin.
func (b *Board) Begun() <-chan struct{} { return b.begun }

// Given are the rows that the operator has stored.
func (b *Board) Given() []v1alpha1.ResultRow {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.given
}

// answer is the answer to an operator that has the first after rows.
func (b *Board) answer(after int) runner.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := runner.Answer{State: b.state, Log: b.id, Begun: b.hasBegun(), After: min(max(after, 0), len(b.log))}
	end, size := a.After, 0
	for end < len(b.log) && end-a.After < maxAnswerRows {
		if size += b.sizes[end]; size > maxAnswerBytes && end > a.After {
			break
		}
		end++
	}
	a.LogRows, a.More = slices.Clip(b.log[a.After:end]), end < len(b.log)
	return a
}

func (b *Board) hasBegun() bool {
	select {
	case <-b.begun:
		return true
	default:
		return false
	}
}

// accept takes stored rows. Those that were given before, and all after the beginning,
// change nothing.
func (b *Board) accept(rows []v1alpha1.ResultRow) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hasBegun() {
		return
	}
	for _, row := range rows {
		if id := row.RowID; !b.known[id] {
			b.known[id] = true
			b.given = append(b.given, row)
		}
	}
}

// begin lets the runner begin, which has to have as many rows. Another time it
// changes nothing.
func (b *Board) begin(rows int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hasBegun() {
		return nil
	}
	if len(b.given) < rows {
		return fmt.Errorf("%d of %d stored rows were given: give all of them first", len(b.given), rows)
	}
	close(b.begun)
	return nil
}
