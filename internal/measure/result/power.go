package result

import (
	"math"
	"math/big"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// Power returns the power of a row whose deciding trial forwarded frames at a rate, with the rows before it of the same
// test, variant, repetition and frame size. The constant error of the meter, in mW, is in both powers of a difference; the one that grows, in
// parts per million, is common to them.
func Power(p v1alpha1.RowPower, size plan.Size, forwarded int64, before []v1alpha1.ResultRow, meter *v1alpha1.PowerMeter) *v1alpha1.RowPower {
	bits, _ := size.BitRate(big.NewRat(forwarded, 1)).Float64()
	p.BitsPerSecond = int64(math.Round(bits))
	if p.Trial == nil || p.Idle == nil {
		return &p
	}
	constant, growing := float64(meter.Constant()), float64(meter.Growing())/float64(v1alpha1.PPM)
	if above := float64(p.Trial.MeanMilliwatts - p.Idle.MeanMilliwatts); bits > 0 {
		p.PicojoulesPerBit = new(picojoules(above / bits))
		scatter := float64(p.Trial.ScatterMilliwatts + p.Idle.ScatterMilliwatts)
		p.PicojoulesPerBitAccuracy = picojoules((2*constant + scatter + growing*math.Abs(above)) / bits)
	}
	points := []point{pointAt(0, p.Idle), pointAt(bits, p.Trial)}
	rows := int32(1)
	for i := range before {
		if q := before[i].Power; q != nil && q.Trial != nil {
			points, rows = append(points, pointAt(float64(q.BitsPerSecond), q.Trial)), rows+1
		}
	}
	if rows >= 2 {
		p.Fit = fit(points, constant, growing)
	}
	if p.Fit != nil {
		p.Fit.Rows = rows
	}
	return &p
}

// picojoules rounds mW of a bit per second: 1 mW/(bit/s) is 10^9 pJ/bit.
func picojoules(perBit float64) int64 { return int64(math.Round(1e9 * perBit)) }

// point is a load in bit/s with a power in mW, and by how much that may be off by the scatter of its readings.
type point struct{ bits, milliwatts, scatter float64 }

func pointAt(bits float64, r *v1alpha1.PowerReading) point {
	return point{bits, float64(r.MeanMilliwatts), float64(r.ScatterMilliwatts)}
}

// fit returns the line by least squares; nil where all loads are the same.
func fit(points []point, constant, growing float64) *v1alpha1.PowerFit {
	n := float64(len(points))
	var meanX, meanY float64
	lowest, highest := points[0].bits, points[0].bits
	for _, p := range points {
		meanX, meanY = meanX+p.bits/n, meanY+p.milliwatts/n
		lowest, highest = min(lowest, p.bits), max(highest, p.bits)
	}
	var xx, xy, turn float64
	for _, p := range points {
		xx += (p.bits - meanX) * (p.bits - meanX)
		xy += (p.bits - meanX) * (p.milliwatts - meanY)
		turn += (constant + p.scatter) * math.Abs(p.bits-meanX)
	}
	if highest <= lowest {
		return nil
	}
	slope := xy / xx
	base := meanY - slope*meanX
	residual := 0.0
	for _, p := range points {
		residual = max(residual, math.Abs(p.milliwatts-base-slope*p.bits))
	}
	return &v1alpha1.PowerFit{
		BaseMilliwatts: int64(math.Round(base)), PicojoulesPerBit: picojoules(slope),
		// Each power may be off by the constant and its scatter, in the direction that turns the line most; the other error stretches all.
		PicojoulesPerBitAccuracy:  picojoules(turn/xx + growing*math.Abs(slope)),
		LargestResidualMilliwatts: int64(math.Round(residual)),
	}
}
