package truth

import "nodrop.dev/nodrop/api/v1alpha1"

// Claims returns the claims of the rows of a test, which does not depend on the engine; nil if a
// device cannot be described by its parameters alone.
func (d Device) Claims(test v1alpha1.Test) func(*v1alpha1.ResultRow) []Claim {
	switch {
	case test.Throughput != nil:
		return d.throughputClaims(test.Throughput)
	case test.FrameLoss != nil, test.Soak != nil:
		return d.lossOf
	case test.ForwardingRate != nil:
		return d.forwardingRateClaims(test.ForwardingRate)
	case test.BackToBack != nil:
		return d.backToBackClaims(test.BackToBack)
	case test.BufferSize != nil:
		return d.bufferSizeClaims(test.BufferSize)
	case test.Recovery != nil:
		return d.recoveryClaims(test.Recovery)
	case test.Broadcast != nil:
		return d.broadcastClaims(test.Broadcast)
	case test.CongestionControl != nil:
		return d.congestionControlClaims(test.CongestionControl)
	case test.HeadOfLineBlocking != nil:
		return d.headOfLineClaims(test.HeadOfLineBlocking)
	case test.AddressCaching != nil:
		return d.addressCachingClaims()
	case test.AddressLearning != nil:
		return d.addressLearningClaims(test.AddressLearning)
	}
	return nil
}
