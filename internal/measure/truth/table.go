package truth

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Methods returns the methods that have a ground truth, in the order of their names.
func Methods() []v1alpha1.Method { return slices.Sorted(maps.Keys(methods)) }

// Line is a line of the table: the pairs of a method.
type Line struct {
	Method v1alpha1.Method
	// Pairs and Rows by verdict.
	Pairs, Rows [3]int
	// Wrong describes the pairs that are wrong and unmarked.
	Wrong []string
}

// Measure measures so many pairs of a method from a seed on, on all processors.
func Measure(ctx context.Context, method v1alpha1.Method, first uint64, pairs int, defaults Defaults) (Line, error) {
	line := Line{Method: method}
	seeds := make(chan uint64)
	var mu sync.Mutex
	var failure error
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := range seeds {
				pair, out, err := measure(ctx, method, seed, defaults)
				mu.Lock()
				switch {
				case err != nil:
					failure = err
				default:
					line.Add(pair, out)
				}
				mu.Unlock()
			}
		})
	}
	for i := range pairs {
		if ctx.Err() != nil {
			break
		}
		seeds <- first + uint64(i)
	}
	close(seeds)
	all.Wait()
	slices.Sort(line.Wrong)
	if failure == nil {
		failure = context.Cause(ctx)
	}
	return line, failure
}

func measure(ctx context.Context, method v1alpha1.Method, seed uint64, defaults Defaults) (*Pair, Outcome, error) {
	pair, err := Draw(method, seed)
	if err != nil {
		return nil, Outcome{}, err
	}
	out, err := pair.Measure(ctx, defaults)
	return pair, out, err
}

// Add adds the outcome of a pair.
func (l *Line) Add(pair *Pair, out Outcome) {
	l.Pairs[out.Verdict]++
	for v, n := range out.Rows {
		l.Rows[v] += n
	}
	if out.Verdict == Wrong {
		text := pair.String()
		for _, reason := range out.Reasons {
			text += "\n  " + reason
		}
		l.Wrong = append(l.Wrong, text)
	}
}

// Allowed returns how many of the pairs of a line may be wrong and unmarked: one in a thousand.
func (l Line) Allowed() int { return (l.Pairs[Right] + l.Pairs[Inconclusive] + l.Pairs[Wrong]) / 1000 }

// Print writes the table.
func Print(w io.Writer, lines []Line) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, pairs, rows [3]int) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, pairs[Right]+pairs[Inconclusive]+pairs[Wrong], pairs[Right], pairs[Inconclusive], pairs[Wrong], rows[Right], rows[Inconclusive], rows[Wrong])
	}
	fmt.Fprintln(table, "METHOD\tPAIRS\tRIGHT\tINCONCLUSIVE\tWRONG AND UNMARKED\tROWS RIGHT\tINCONCLUSIVE\tWRONG AND UNMARKED\t")
	var pairs, rows [3]int
	for _, l := range lines {
		row(string(l.Method), l.Pairs, l.Rows)
		for v := range pairs {
			pairs[v], rows[v] = pairs[v]+l.Pairs[v], rows[v]+l.Rows[v]
		}
	}
	row("all", pairs, rows)
	return table.Flush()
}
