package report

import "nodrop.dev/nodrop/api/v1alpha1"

// validities explains the words of the validity column, the best first.
var validities = []struct {
	validity v1alpha1.Validity
	meaning  string
}{
	{v1alpha1.ValidityValid, "a measurement of the device, or exactly what a model says"},
	{v1alpha1.ValidityVirtual, "the device is software on processors that it shares with others: it shows that it works, and is no claim about hardware"},
	{v1alpha1.ValidityUncalibrated, "the tester itself was not measured back to back, or not lately, so its own share of the figures is not known"},
	{v1alpha1.ValidityContended, "others used processor or bed during the trial, or a link or a clock was disturbed, so the figures may be worse than the device is"},
	{v1alpha1.ValidityGeneratorBound, "the tester, not the device, was the limit: the device may be better than the figures"},
	{v1alpha1.ValidityInvalid, "what was to be measured did not happen during the trial, or could not be seen: there is no figure"},
}
