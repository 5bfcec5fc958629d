package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// document is the part of a result that is checked.
type document struct {
	Phase   string
	Message string
	Rows    []struct {
		Test           string
		FrameSizeBytes int64
		Message        string
		Frames         *struct {
			Sent, Received, Lost int64
			Reordered            *int64
			LineRatePPM          int64
		}
	}
}

// exact checks that every row of a result sent frames at a load that passed, and lost and
// reordered none.
func exact(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the result: %w", err)
	}
	return exactResult(text)
}

func exactResult(text []byte) error {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("reading the result: %w", err)
	}
	if len(d.Rows) == 0 {
		return fmt.Errorf("the result is %s without rows: %s", d.Phase, d.Message)
	}
	for _, row := range d.Rows {
		f := row.Frames
		switch {
		case f == nil || f.Sent == 0:
			return fmt.Errorf("%s: no frame was sent: %s", row.Test, row.Message)
		case f.LineRatePPM == 0:
			return fmt.Errorf("%s: no load passed: %s", row.Test, row.Message)
		case f.Lost != 0:
			return fmt.Errorf("%s: %d of %d frames lost: %s", row.Test, f.Lost, f.Sent, row.Message)
		case f.Reordered != nil && *f.Reordered != 0:
			return fmt.Errorf("%s: %d of %d frames reordered", row.Test, *f.Reordered, f.Received)
		}
	}
	return nil
}
