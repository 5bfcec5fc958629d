package sim

import "testing"

// FuzzParseModel holds the reader of models to a reason for what it refuses.
func FuzzParseModel(f *testing.F) {
	for _, seed := range []string{"", "frame_size_bytes,line_rate_percent\n64,100\n", "frame_size_bytes,line_rate_percent,latency_min_us,latency_avg_us,latency_max_us\n64,31.4,1.5,2,3\n1518,100,2,3,4\n", "frame_size_bytes\n\n", "a,b\n1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseModel(text); (m == nil) != (err != nil) || err != nil && err.Error() == "" {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// FuzzParseJitter does so for tables of jitter.
func FuzzParseJitter(f *testing.F) {
	f.Add("")
	f.Add("frame_size_bytes,jitter_us\n64,1.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseJitter(text); (m == nil) != (err != nil) || err != nil && err.Error() == "" {
			t.Errorf("%v, %v", m, err)
		}
	})
}
