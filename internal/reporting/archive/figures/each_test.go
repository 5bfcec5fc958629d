package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/reporting/report"
)

var errAway = errors.New("the server is away")

// TestEach leaves out what cannot be read while others can, and fails if the archive does.
func TestEach(t *testing.T) {
	all := stored{}
	var names []string
	for i := range 8 {
		d := sample()
		d.Benchmark.UID = fmt.Sprint(i)
		n := fmt.Sprintf("a/b/%d.json", i)
		for suffix, text := range archived(t, d) {
			all[n+suffix[len(name):]] = text
		}
		names = append(names, n)
	}
	for of, c := range map[string]struct {
		// away reports whether opening fails, after so many documents were passed on.
		away       func(name string, done int) bool
		damaged    []int
		want       []string
		unreadable int
		fails      bool
	}{
		"all":                 {want: []string{"0", "1", "2", "3", "4", "5", "6", "7"}},
		"damaged":             {damaged: []int{0, 3, 4, 5, 6, 7}, want: []string{"1", "2"}, unreadable: 6},
		"all damaged":         {damaged: []int{0, 1, 2, 3, 4, 5, 6, 7}, unreadable: 8},
		"one cannot be read":  {away: func(n string, _ int) bool { return n == names[2] }, damaged: []int{2}, want: []string{"0", "1", "3", "4", "5", "6", "7"}, unreadable: 1},
		"the last one":        {away: func(n string, _ int) bool { return n == names[7] }, damaged: []int{7}, want: []string{"0", "1", "2", "3", "4", "5", "6"}, unreadable: 1},
		"away from the start": {away: func(string, int) bool { return true }, fails: true},
		"away in the middle":  {away: func(_ string, done int) bool { return done >= 3 }, want: []string{"0", "1", "2"}, fails: true},
		"away at the end":     {away: func(_ string, done int) bool { return done >= 7 }, want: []string{"0", "1", "2", "3", "4", "5", "6"}, fails: true},
	} {
		t.Run(of, func(t *testing.T) {
			some := stored{}
			for n, text := range all {
				some[n] = text
			}
			for _, i := range c.damaged {
				some[names[i]], some[names[i]+Suffix] = []byte("damaged"), nil
			}
			var got []string
			opened := map[string]int{}
			unreadable, err := Each(t.Context(), names, func(ctx context.Context, n string) (io.ReadCloser, error) {
				opened[n]++
				if c.away != nil && c.away(n, len(got)) {
					return nil, errAway
				}
				return some.open(ctx, n)
			}, nil, func(d *report.Document) error {
				got = append(got, d.Benchmark.UID)
				return nil
			})
			if !slices.Equal(got, c.want) || len(unreadable) != c.unreadable || errors.Is(err, errAway) != c.fails || !c.fails && err != nil {
				t.Errorf("read %q, want %q; %v, want %d; %v", got, c.want, unreadable, c.unreadable, err)
			}
			for i, n := range names {
				if want := 2; slices.Contains(c.damaged, i) && opened[n] < want && !c.fails {
					t.Errorf("%s was opened %d times, want at least %d", n, opened[n], want)
				} else if !slices.Contains(c.damaged, i) && !c.fails && opened[n] > 1 {
					t.Errorf("%s was opened %d times, and has figures", n, opened[n])
				}
			}
		})
	}
}

// TestManyLargeResults reads the figures of a history without the text of its documents.
func TestManyLargeResults(t *testing.T) {
	all := archived(t, sample())
	var names []string
	for range 250 {
		names = append(names, name)
	}
	bytesRead := 0
	_, err := Each(t.Context(), names, func(ctx context.Context, n string) (io.ReadCloser, error) {
		if n == name {
			t.Fatal("a document was read that has figures")
		}
		bytesRead += len(all[n])
		return io.NopCloser(bytes.NewReader(all[n])), nil
	}, nil, func(*report.Document) error { return nil })
	if err != nil || bytesRead*2 > 250*len(all[name]) {
		t.Errorf("%d bytes were read, the documents have %d: %v", bytesRead, 250*len(all[name]), err)
	}
}
