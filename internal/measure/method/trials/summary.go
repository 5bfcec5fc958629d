package trials

import "nodrop.dev/nodrop/api/v1alpha1"

// Summary returns what one method measures from a row; nil for rows without it. It makes the
// columns and the headline of the method.
type Summary[S any] func(*v1alpha1.ResultRow) *S

// Number makes the value of a column from a number that every summary has.
func (s Summary[S]) Number(of func(*S) int64) func(*v1alpha1.ResultRow) (int64, bool) {
	return s.Optional(func(summary *S) *int64 { return new(of(summary)) })
}

// Optional makes the value of a column from a number that not every summary has.
func (s Summary[S]) Optional(of func(*S) *int64) func(*v1alpha1.ResultRow) (int64, bool) {
	return func(row *v1alpha1.ResultRow) (int64, bool) {
		if summary := s(row); summary != nil {
			return Pointed(of(summary))
		}
		return 0, false
	}
}

// Headline makes the Headline of a method from that of its summary.
func (s Summary[S]) Headline(of func(*S) Figure) func(*v1alpha1.ResultRow) (Figure, bool) {
	return func(row *v1alpha1.ResultRow) (Figure, bool) {
		if summary := s(row); summary != nil {
			return of(summary), true
		}
		return Figure{}, false
	}
}
