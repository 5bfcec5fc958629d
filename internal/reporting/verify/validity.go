package verify

import (
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// gravity are the validities, the best first.
var gravity = []v1alpha1.Validity{
	v1alpha1.ValidityValid, v1alpha1.ValidityVirtual, v1alpha1.ValiditySimulated, v1alpha1.ValidityUncalibrated,
	v1alpha1.ValidityContended, v1alpha1.ValidityGeneratorBound, v1alpha1.ValidityInvalid,
}

// byTime are the methods whose figures are times at which frames arrived. Bursts by which the tester
// caught up do not change these.
var byTime = []v1alpha1.Method{v1alpha1.MethodBGPRestart, v1alpha1.MethodConvergence, v1alpha1.MethodRouteFlap}

// validity checks that a row is not better than its trials say.
func (c *check) validity() {
	best, why := v1alpha1.ValidityValid, "as nothing speaks against it"
	least := func(v v1alpha1.Validity, reason string) {
		if slices.Index(gravity, v) > slices.Index(gravity, best) {
			best, why = v, reason
		}
	}
	if d := c.doc; d.Bed != nil && (d.Bed.Device.Simulated != nil || d.Bed.Engine.Kind == v1alpha1.EngineSim) || d.Environment != nil && d.Environment.Engine == v1alpha1.EngineSim {
		least(v1alpha1.ValiditySimulated, "as the device is a model")
	}
	times := slices.Contains(byTime, c.row.Method) || c.row.Reset != nil && c.row.Reset.Method == v1alpha1.ResetByTimestamp || c.test.Reset != nil && c.test.Reset.Method == v1alpha1.ResetByTimestamp
	caused := c.row.Frames.OrZero().Reordered != nil && *c.row.Frames.OrZero().Reordered > 0 || c.doc.Environment != nil && c.doc.Environment.Calibration != nil
	for i := range c.log.Trials {
		r := &c.log.Trials[i]
		if !r.Decides && !r.Limits {
			continue
		}
		caused = caused || because(r, v1alpha1.TrialTesterLost) || because(r, v1alpha1.TrialStalled) || because(r, v1alpha1.TrialShortOfLoad)
		switch {
		case because(r, v1alpha1.TrialSessionDown) || because(r, v1alpha1.TrialRouterDown):
			least(v1alpha1.ValidityInvalid, "as a session was down")
		case because(r, v1alpha1.TrialTesterLost), because(r, v1alpha1.TrialStalled) && !times, r.Limits && because(r, v1alpha1.TrialShortOfLoad) && !because(r, v1alpha1.TrialHeldBack):
			least(v1alpha1.ValidityGeneratorBound, "as the tester was the limit")
		case because(r, v1alpha1.TrialContended), because(r, v1alpha1.TrialLink) && c.row.Method != v1alpha1.MethodReset:
			least(v1alpha1.ValidityContended, "as the tester was disturbed")
		}
	}
	caused = caused || c.hostsLimited()
	printed := c.row.Validity
	c.complain("validity", printed, slices.Index(gravity, printed) >= slices.Index(gravity, best), string(best)+" or worse, "+why)
	c.complain("validityReasons", len(c.row.ValidityReasons), (len(c.row.ValidityReasons) == 0) == (printed == v1alpha1.ValidityValid), "reasons if and only if the validity is not Valid")
	if printed == v1alpha1.ValidityGeneratorBound {
		c.complain("validity", printed, caused, "another one, as the tester was the limit in no trial")
	}
}
