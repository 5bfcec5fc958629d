package report

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// validities explains the words of the validity column, the best first.
var validities = []struct {
	validity v1alpha1.Validity
	meaning  string
}{
	{v1alpha1.ValidityValid, "a measurement of the device"},
	{v1alpha1.ValidityVirtual, "the device is software on processors that it shares with others: it shows that it works, and is no claim about hardware"},
	{v1alpha1.ValiditySimulated, "the device is a model: the figures were computed, and nothing was measured"},
	{v1alpha1.ValidityUncalibrated, "the tester itself was not measured back to back, or not lately, so its own share of the figures is not known"},
	{v1alpha1.ValidityContended, "others used processor or bed during the trial, or a link or a clock was disturbed, so the figures may be worse than the device is"},
	{v1alpha1.ValidityGeneratorBound, "the tester, not the device, was the limit: the device may be better than the figures"},
	{v1alpha1.ValidityInvalid, "what was to be measured did not happen during the trial, or could not be seen: there is no figure"},
}

// simulatedNote begins every document of a modelled device.
const simulatedNote = "simulated: every figure was computed from a model, and nothing was measured"

// simulatedBanner begins every simulated document, in every format.
const simulatedBanner = "SIMULATED: every figure was computed from a model, and nothing was measured"

// furtherNotes are the notes that no banner says.
func (d *Document) furtherNotes() []string {
	return slices.DeleteFunc(slices.Clone(d.Notes), func(text string) bool { return text == simulatedNote })
}

// simulated reports whether the figures come from a model of a device.
func (d *Document) simulated() bool {
	return d.Environment != nil && d.Environment.Engine == v1alpha1.EngineSim ||
		slices.ContainsFunc(d.Rows, func(r v1alpha1.ResultRow) bool { return r.Validity == v1alpha1.ValiditySimulated })
}
