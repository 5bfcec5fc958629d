// Package past estimates from benchmarks that ended for how long others will have a bed, and how
// long it takes until the next one has it. It is pure, and all of its times are of the clock on the wall.
package past
