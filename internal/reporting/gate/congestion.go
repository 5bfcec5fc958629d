package gate

import (
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// congestion are the metrics of what a device does instead of dropping frames: it marks them, or asks the
// tester to send nothing for a time.
var congestion = []Metric{
	{Name: "CongestedFrames", Unit: PPB, Meaning: "frames that the device marked with CE as a share of those that were received, rounded up", Value: congestedFrames},
	{Name: "LostCNPs", Unit: Number, Meaning: "congestion notification packets that receiving ports sent and no port received", Value: lostCNPs},
	ofFlowControl("PauseFrames", "frames of the device that pause the whole link", func(f *v1alpha1.FlowControlSummary) int64 { return f.PauseFrames }),
	ofFlowControl("PFCFrames", "frames of the device that pause priorities, once for each priority", func(f *v1alpha1.FlowControlSummary) int64 { return f.PFCFrames }),
}

// congestedFrames is rounded up, so that only a row without marks has 0.
func congestedFrames(row *v1alpha1.ResultRow) (int64, string) {
	switch {
	case row.Frames == nil || row.Frames.Congested == nil:
		return 0, "marks were not counted: set ecn in the packet of the profile"
	case row.Frames.Received == 0:
		return 0, "no frame was received"
	}
	return ceiling(new(big.Int).Mul(big.NewInt(*row.Frames.Congested), big.NewInt(1_000_000_000)), row.Frames.Received), ""
}

// lostCNPs is 0 if ports received more than were sent, as other senders can send some.
func lostCNPs(row *v1alpha1.ResultRow) (int64, string) {
	if row.Frames == nil || row.Frames.CNP == nil {
		return 0, "congestion notification packets were not counted: set cnp in rocev2 of the packet of the profile"
	}
	return max(row.Frames.CNP.Sent-row.Frames.CNP.Received, 0), ""
}

func ofFlowControl(name, meaning string, of func(*v1alpha1.FlowControlSummary) int64) Metric {
	return Metric{Name: name, Unit: Number, Meaning: meaning, Value: func(row *v1alpha1.ResultRow) (int64, string) {
		if row.Frames == nil || row.Frames.FlowControl == nil {
			return 0, "no frames of flow control were counted, and only with rocev2 in the packet of the profile are they known to be none"
		}
		return of(row.Frames.FlowControl), ""
	}}
}
