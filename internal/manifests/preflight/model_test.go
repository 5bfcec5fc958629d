package preflight

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Frames next to hosts have sizes of their own, which a model must have as well.
func TestModelFitsFramesNextToHosts(t *testing.T) {
	var bed v1alpha1.TestBed
	bed.Name = "short-model"
	bed.Spec.Device.Simulated = &v1alpha1.SimulatedDevice{}
	bed.Spec.Device.Simulated.Model.ConfigMapRef = v1alpha1.ConfigMapKeyReference{Name: "short-model", Key: "switch.csv"}
	models := func(v1alpha1.ConfigMapKeyReference) (string, bool) {
		return "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,100,1,2,3\n512,100,1,2,3\n", true
	}
	profile := &v1alpha1.TrafficProfile{Spec: v1alpha1.TrafficProfileSpec{FrameSizes: []int32{64}}}
	for path, tc := range map[string]struct {
		test func(size int32) v1alpha1.Test
	}{
		"spec.tests[0].incast.stateless.frameSize": {func(size int32) v1alpha1.Test {
			return v1alpha1.Test{Name: "t", Incast: &v1alpha1.IncastTest{Stateless: &v1alpha1.StatelessTraffic{Load: "20%", FrameSize: size}}}
		}},
		"spec.tests[0].rpcLatency.backgroundFrameSize": {func(size int32) v1alpha1.Test {
			return v1alpha1.Test{Name: "t", RPCLatency: &v1alpha1.RPCLatencyTest{Background: []v1alpha1.LoadAmount{"20%"}, BackgroundFrameSize: size}}
		}},
	} {
		for size, want := range map[int32]string{512: "", 1518: path + ": Invalid value: 1518: the device model of test bed short-model (ConfigMap short-model, key switch.csv) has frame sizes of 64 to 512 bytes, not 1518"} {
			b := &v1alpha1.Benchmark{Spec: v1alpha1.BenchmarkSpec{Tests: []v1alpha1.Test{tc.test(size)}}}
			errs := ModelFits(b, profile, &bed, models)
			if text := errs.ToAggregate(); (text == nil) != (want == "") || text != nil && !strings.Contains(text.Error(), want) {
				t.Errorf("%d bytes: %v, want %q", size, text, want)
			}
		}
	}
}
