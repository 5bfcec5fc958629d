// Package result turns what a method found into rows of the API: exact rates and
// sums are rounded here, once, and every row gets its validity, which says
// whether the number can be believed, whether it passes or fails.
package result
