package result

import (
	"fmt"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// meter has an error of 1 % and of 500 mW.
var meter = &v1alpha1.PowerMeter{SNMP: &v1alpha1.SNMPPowerMeter{Outlets: []v1alpha1.PowerOutlet{{MilliwattsPerUnit: 1000}}}}

// at returns the power of a row with frames of 1000 bytes, and rows before it.
func at(milliwatts, framesPerSecond int64, before ...v1alpha1.ResultRow) *v1alpha1.RowPower {
	p := v1alpha1.RowPower{Idle: &v1alpha1.PowerReading{MeanMilliwatts: 100_000}, Trial: &v1alpha1.PowerReading{MeanMilliwatts: milliwatts}}
	return Power(p, plan.Bytes(1000), framesPerSecond, before, meter)
}

// TestPower computes the energy of a bit, and the line through loads.
func TestPower(t *testing.T) {
	t.Parallel()
	// 8 Mbit/s for each 1,000 frames/s, and 2 nJ for each bit: 16 mW.
	first := at(100_000+16_000, 1_000_000)
	if *first.PicojoulesPerBit != 2000 || first.BitsPerSecond != 8_000_000_000 || first.Fit != nil {
		t.Errorf("%+v", first)
	}
	// Both powers may be off by 500 mW, and the difference by 1 %: 1,160 mW of 8 Gbit/s.
	if first.PicojoulesPerBitAccuracy != 145 {
		t.Errorf("± %d pJ/bit, want 145", first.PicojoulesPerBitAccuracy)
	}
	second := at(100_000+32_000, 2_000_000, v1alpha1.ResultRow{Power: first})
	if f := second.Fit; f == nil || f.Rows != 2 || f.BaseMilliwatts != 100_000 || f.PicojoulesPerBit != 2000 || f.LargestResidualMilliwatts != 0 || f.PicojoulesPerBitAccuracy != 83 {
		t.Errorf("%+v", second.Fit)
	}
	bent := at(100_000+44_000, 2_000_000, v1alpha1.ResultRow{Power: first})
	if f := bent.Fit; f.PicojoulesPerBit != 2750 || f.BaseMilliwatts != 98_000 || f.LargestResidualMilliwatts != 4000 {
		t.Errorf("%+v", bent.Fit)
	}
	for name, p := range map[string]*v1alpha1.RowPower{
		"nothing forwarded": at(100_000, 0),
		"no idle":           Power(v1alpha1.RowPower{Trial: &v1alpha1.PowerReading{MeanMilliwatts: 1}}, plan.Bytes(64), 1, nil, meter),
		"no trial":          Power(v1alpha1.RowPower{Idle: &v1alpha1.PowerReading{MeanMilliwatts: 1}}, plan.Bytes(64), 1, []v1alpha1.ResultRow{{Power: first}}, meter),
		"all loads are 0":   at(100_000, 0, v1alpha1.ResultRow{Power: at(100_000, 0)}),
	} {
		if p.PicojoulesPerBit != nil || p.Fit != nil {
			t.Errorf("%s: %s", name, fmt.Sprint(p))
		}
	}
	if p := at(99_000, 1_000_000); *p.PicojoulesPerBit != -125 || p.PicojoulesPerBitAccuracy != 126 {
		t.Errorf("less than idle: %d ± %d", *p.PicojoulesPerBit, p.PicojoulesPerBitAccuracy)
	}
}

// TestScatterOfPower widens what is known of the energy of a bit by the scatter of the readings, and not only by the meter.
func TestScatterOfPower(t *testing.T) {
	t.Parallel()
	scattered := func(milliwatts, framesPerSecond, scatter int64, before ...v1alpha1.ResultRow) *v1alpha1.RowPower {
		p := v1alpha1.RowPower{
			Idle:  &v1alpha1.PowerReading{MeanMilliwatts: 100_000, ScatterMilliwatts: 40},
			Trial: &v1alpha1.PowerReading{MeanMilliwatts: milliwatts, ScatterMilliwatts: scatter},
		}
		return Power(p, plan.Bytes(1000), framesPerSecond, before, meter)
	}
	// As in TestPower, and 40 mW and 760 mW more of 8 Gbit/s.
	first := scattered(100_000+16_000, 1_000_000, 760)
	if first.PicojoulesPerBitAccuracy != 145+100 {
		t.Errorf("± %d pJ/bit, want 245", first.PicojoulesPerBitAccuracy)
	}
	// The powers at 0, 8 and 16 Gbit/s turn the line by their distance from 8 Gbit/s: by 40 mW x 8 and 80 mW x 8 of 128 (Gbit/s)².
	second := scattered(100_000+32_000, 2_000_000, 80, v1alpha1.ResultRow{Power: first})
	if f := second.Fit; f == nil || f.PicojoulesPerBit != 2000 || f.PicojoulesPerBitAccuracy != 83+7 { // 82.5 + 7.5
		t.Errorf("%+v", second.Fit)
	}
}
