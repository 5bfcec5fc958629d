package hint

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestOf(t *testing.T) {
	tests := map[string]struct {
		err  error
		want string
	}{
		"none":          {io.EOF, ""},
		"nil stays nil": {With(nil, "do this"), ""},
		"direct":        {With(io.EOF, "do this"), "do this"},
		"wrapped":       {fmt.Errorf("reading: %w", With(io.EOF, "do this")), "do this"},
		"two, outermost first": {
			With(fmt.Errorf("running: %w", With(io.EOF, "do this")), "see there"), "see there; do this",
		},
		"joined": {errors.Join(io.ErrClosedPipe, With(io.EOF, "do this")), "do this"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Of(test.err); got != test.want {
				t.Errorf("Of = %q, want %q", got, test.want)
			}
		})
	}
}

func TestWithKeepsTheError(t *testing.T) {
	err := With(fmt.Errorf("reading: %w", io.EOF), "do this")
	if !errors.Is(err, io.EOF) || err.Error() != "reading: EOF" {
		t.Errorf("With changed the error: %v", err)
	}
}
