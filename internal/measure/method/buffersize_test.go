package method

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func bufferTest(over v1alpha1.Percentage) v1alpha1.Test {
	test := v1alpha1.Test{Name: "buffer", BufferSize: &v1alpha1.BufferSizeTest{Oversubscription: over, Repetitions: 10, ResolutionFrames: 1}}
	test.BufferSize.MaxDuration.Duration = 2 * time.Second
	return test
}

// Whatever a port of the model holds is found to the frame, in every repetition, with a
// little oversubscription and by simultaneous bursts.
func TestBufferSizeIsExact(t *testing.T) {
	for over, burst := range map[v1alpha1.Percentage]int64{"1%": 101, "7.5%": 0, "100%": 2} {
		for _, holds := range []int64{1, 2, 63, 1000, 12_345} {
			rows := bridged(t, fmt.Sprintf("%s,buffer_frames\n64,100,1,2,3,%d\n", header, holds), v1alpha1.SimulatedBehaviour{}, bufferTest(over))
			b := rows[0].BufferSize
			if b == nil || b.AvgFrames != holds || b.MinFrames != holds || b.MaxFrames != holds || b.StddevFrames != 0 || b.Repetitions != 10 {
				t.Errorf("%d frames at %s: %+v (%s)", holds, over, b, rows[0].Message)
				continue
			}
			if b.AvgBytes != 64*holds || burst > 0 && b.BurstFrames != burst*holds {
				t.Errorf("%d frames at %s: %+v, want a burst of %d", holds, over, b, burst*holds)
			}
			if f := rows[0].Frames; f.Lost != 0 || f.Sent != b.BurstFrames || rows[0].Message != "" {
				t.Errorf("%d frames at %s: the row is of a trial with %d sent and %d lost: %s", holds, over, f.Sent, f.Lost, rows[0].Message)
			}
		}
	}
}

func TestBufferSizeSaysWhatItCouldNot(t *testing.T) {
	for name, test := range map[string]struct {
		model  string
		before []v1alpha1.Test
		frames int64
		says   string
	}{
		"deep":     {header + ",buffer_frames\n64,100,1,2,3,1000000000\n", nil, 297_619, "297,619 frames beyond line rate passed, and more were not tried"},
		"none":     {header + "\n64,100,1,2,3\n", nil, 0, "one frame beyond line rate was too many for p2"},
		"dead":     {header + "\n64,0,1,2,3\n", nil, 0, "no test frame came back"},
		"slow":     {header + ",buffer_frames\n64,99,1,2,3,1000\n", []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}, 500, "fill the buffer too"},
		"overload": {header + ",generator_limit_percent,buffer_frames\n64,100,1,2,3,50,100\n", nil, -1, ""},
	} {
		rows := rowsOf(t, test.model, nil, append(test.before, bufferTest("1%"))...)
		row := rows[len(rows)-1]
		b := row.BufferSize
		if b == nil || !strings.Contains(row.Message, test.says) {
			t.Errorf("%s: %+v, %q", name, b, row.Message)
			continue
		}
		if test.frames >= 0 && (b.AvgFrames < test.frames-7 || b.AvgFrames > test.frames+7) {
			t.Errorf("%s: %d frames, want %d", name, b.AvgFrames, test.frames)
		}
		if test.frames < 0 && row.Validity != v1alpha1.ValidityGeneratorBound {
			t.Errorf("%s: %s", name, row.Validity)
		}
	}
}

func TestBufferSizeIsRefused(t *testing.T) {
	bed := bridgeBed()
	bed.Spec.Ports = bed.Spec.Ports[:2]
	_, err := planOn(bed, v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, bufferTest("1%"))
	if err == nil || !strings.Contains(err.Error(), "bufferSize needs 3") {
		t.Errorf("two ports: %v", err)
	}
	bed = bridgeBed()
	bed.Spec.Ports[2].Speed = "1G"
	if _, err = planOn(bed, v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, bufferTest("1%")); err == nil || !strings.Contains(err.Error(), "bufferSize needs ports of one speed") {
		t.Errorf("two speeds: %v", err)
	}
	if _, err = planOn(bridgeBed(), v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}}, 64, bufferTest("0%")); err == nil || !strings.Contains(err.Error(), "oversubscription") {
		t.Errorf("no oversubscription: %v", err)
	}
}
