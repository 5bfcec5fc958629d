package sim

import (
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/traffic"
)

// Frames that a model damages, delays or drops in a stall are counted exactly.
func TestOddModels(t *testing.T) {
	const second = 1_488_095 // frames of 64 bytes at 10 % of 10G
	type want struct {
		lost, reordered uint64
		damage          traffic.Damage
	}
	for name, test := range map[string]struct {
		columns, cells string
		d              time.Duration
		want           want
	}{
		"loses 1 in 1,000,000":     {"loss_ppm", "1", 10 * time.Second, want{lost: 14}},
		"corrupts 1 in 100,000":    {"corrupted_ppm", "10", time.Second, want{lost: 14, damage: traffic.Damage{Corrupted: 14}}},
		"truncates 1 in 1,000":     {"truncated_ppm", "1000", time.Second, want{lost: 1488, damage: traffic.Damage{Truncated: 1488}}},
		"corrupts and truncates":   {"corrupted_ppm,truncated_ppm", "10,1000", time.Second, want{lost: 1502, damage: traffic.Damage{Corrupted: 14, Truncated: 1488}}},
		"delays 1 in 1,000":        {"delayed_ppm,delay_us", "1000,5000", time.Second, want{reordered: 1488}},
		"delays by nothing":        {"delayed_ppm,delay_us", "1000,0", time.Second, want{}},
		"stalls 50 ms every 10 s":  {"stall_us,stall_period_us", "50000,10000000", 20 * time.Second, want{lost: 2 * 74_404}},
		"stalls once in a second":  {"stall_us,stall_period_us", "50000,10000000", time.Second, want{lost: 74_404}},
		"stalls before the trial":  {"stall_us,stall_period_us", "500000,1000000", 500 * time.Millisecond, want{lost: second / 2}},
		"stalls, and damages more": {"stall_us,stall_period_us,corrupted_ppm", "50000,10000000,10", time.Second, want{lost: 74_404 + 14, damage: traffic.Damage{Corrupted: 14}}},
	} {
		t.Run(name, func(t *testing.T) {
			e, streams := pairs(t, header+","+test.columns+"\n64,100,1.000,2.000,5.000,0.100,0.900,"+test.cells+"\n", 2)
			m := trial(t, e, streams[:1], load(t, 64, 100_000, 1), test.d)
			rx := m.Rx[traffic.RxKey{Stream: 0, Port: "p2"}]
			got := want{m.Tx[0].Sent - rx.Received, rx.Reordered, m.Damaged["p2"]}
			// Where a stall begins between two frames, either may be the last.
			near := strings.Contains(name, "stalls") && got.lost+1 >= test.want.lost && got.lost <= test.want.lost+2
			if got != test.want && !near {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			if got.lost > 0 && rx.GapEnd == 0 && test.want.lost != second/2 {
				t.Error("nothing says where frames were lost")
			}
			checkDelay(t, rx, test.columns)
		})
	}
}

// checkDelay checks that the parts of a latency agree, and that a delay is in it.
func checkDelay(t *testing.T, rx traffic.RxCount, columns string) {
	t.Helper()
	var frames uint64
	for _, n := range rx.Latency.Buckets {
		frames += n
	}
	if frames != rx.Received || rx.Latency.Count != rx.Received {
		t.Errorf("latency of %d frames, %d in buckets, received %d", rx.Latency.Count, frames, rx.Received)
	}
	if delayed := rx.Latency.MaxNs > 5_000_000; delayed != (strings.Contains(columns, "delay") && rx.Reordered > 0) {
		t.Errorf("the highest latency is %d ns", rx.Latency.MaxNs)
	}
}

func TestStallsLeaveTime(t *testing.T) {
	for cells, want := range map[string]string{
		"50000,60000": "stalls of 50ms every 60ms",
		"50000,":      "stalls of 50ms every 0s",
		"100,500":     "stalls of 100µs every 500µs",
	} {
		_, err := ParseModel(header + ",stall_us,stall_period_us\n64,100,1,2,5,0,0," + cells + "\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", cells, err, want)
		}
	}
}
