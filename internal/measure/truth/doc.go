// Package truth holds the ground truth of the measuring methods: pairs of a modeled device, of
// which the true answer is known, and of a modeled tester with known faults. Each pair is measured
// in simulated time, and each row is right within its interval, inconclusive, or wrong and
// unmarked. The true answers follow from the parameters of the device, by other code than that of
// the methods and of the model. docs/design/ground-truth.md has the rules and the table.
package truth
