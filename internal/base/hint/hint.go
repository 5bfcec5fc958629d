// Package hint carries advice for a person along with an error: the error says
// what is wrong, the hint says what to do about it.
package hint

import (
	"errors"
	"strings"
)

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// With adds a hint to an error; a nil error stays nil. Text is a sentence that says
// what to do, without a full stop.
func With(err error, text string) error {
	if err == nil {
		return nil
	}
	return &hinted{error: err, hint: text}
}

// Of returns the hints of an error, the outermost first, or "" when there is none.
func Of(err error) string {
	var texts []string
	for {
		var h *hinted
		if !errors.As(err, &h) {
			return strings.Join(texts, "; ")
		}
		texts = append(texts, h.hint)
		err = h.error
	}
}
