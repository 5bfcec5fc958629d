package xdp

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/traffic"
)

// freshDevice is an engine before whose trials the device forgets what it counted.
type freshDevice struct {
	*Engine
	device *device
}

func (f freshDevice) Start(ctx context.Context, trial traffic.Trial) error {
	f.device.beginRun()
	return f.Engine.Start(ctx, trial)
}

// A device that drops every n-th frame of a trial forwards n-1 frames of it, however fast
// they come. So the throughput, the loss and the counts of trials are known. The rows of
// live frames and of AF_XDP have them, and are the same.
func TestPathsMeasureTheSame(t *testing.T) {
	longtest.Skip(t, "TestExactDropper and TestOrderingOverAReorderer")
	const (
		lineRate = 100e6 / 8 / (512 + 20) // frames/s of the port
		trial    = 500 * time.Millisecond
		delay    = 20 * time.Millisecond
	)
	// capacity is the share of line rate at which a trial has 4,999 frames.
	capacity := int64(4999 / trial.Seconds() / lineRate * float64(v1alpha1.PPM))
	const resolution = v1alpha1.PPM / 200 // 0.5 %
	tests := map[string]struct {
		device func(*device)
		test   v1alpha1.Test
		// right checks a row.
		right func(*testing.T, v1alpha1.ResultRow)
		// same checks that two rows are the same.
		same func(*testing.T, v1alpha1.ResultRow, v1alpha1.ResultRow)
	}{
		"throughput": {
			func(d *device) { d.inXDP(settings{"drop_every": uint32(5000)}) },
			v1alpha1.Test{Throughput: &v1alpha1.ThroughputTest{Resolution: "0.5%", MinLoad: "1%", MaxLoad: "100%", TrialDuration: metav1.Duration{Duration: trial}, SearchTrialDuration: metav1.Duration{Duration: trial}}},
			func(t *testing.T, row v1alpha1.ResultRow) {
				f := row.Frames
				if f.LineRatePPM > capacity+1 || f.LineRatePPM < capacity-resolution || f.Lost != 0 || f.Received != f.Sent || f.Sent > 4999 {
					t.Errorf("%d ppm, sent %d, received %d, lost %d: want %d ppm or up to %d less, and none lost", f.LineRatePPM, f.Sent, f.Received, f.Lost, capacity, resolution)
				}
			},
			func(t *testing.T, a, b v1alpha1.ResultRow) {
				if apart := a.Frames.LineRatePPM - b.Frames.LineRatePPM; max(apart, -apart) > resolution {
					t.Errorf("%d and %d ppm, want at most %d apart", a.Frames.LineRatePPM, b.Frames.LineRatePPM, resolution)
				}
			},
		},
		"frame loss": {
			func(d *device) { d.inXDP(settings{"drop_every": uint32(50)}) },
			v1alpha1.Test{FrameLoss: &v1alpha1.FrameLossTest{MaxLoad: "50%", Step: "10%", TrialDuration: metav1.Duration{Duration: trial}}},
			func(t *testing.T, row v1alpha1.ResultRow) {
				if f := row.Frames; f.Lost != f.Sent/50 || f.Received != f.Sent-f.Sent/50 {
					t.Errorf("sent %d, received %d, lost %d: want %d lost", f.Sent, f.Received, f.Lost, f.Sent/50)
				}
			},
			sameCounts,
		},
		"latency": {
			func(d *device) { d.delay(delay) },
			v1alpha1.Test{Latency: &v1alpha1.LatencyTest{Loads: []v1alpha1.Load{"10%"}, TrialDuration: metav1.Duration{Duration: trial}}},
			func(t *testing.T, row v1alpha1.ResultRow) {
				if f := row.Frames; f.Lost != 0 || f.Received != f.Sent {
					t.Errorf("sent %d, received %d, lost %d: want none lost", f.Sent, f.Received, f.Lost)
				}
				if least := time.Duration(row.Latency.MinNs); least < delay || least > delay+10*time.Millisecond {
					t.Errorf("the least latency is %v, want %v or up to 10 ms more", least, delay)
				}
			},
			sameCounts,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.test.Name = "t"
			var rows []v1alpha1.ResultRow
			for _, transmit := range []Transmit{LiveFrames, AFXDP} {
				t.Run(string(transmit), func(t *testing.T) {
					bed := newBed(t)
					d := bed.device()
					tc.device(d)
					d.answers()
					ports := d.ports([]netip.Prefix{netip.MustParsePrefix("198.18.1.2/24")}, []netip.Prefix{netip.MustParsePrefix("198.18.1.3/24")})
					ports[0].Transmit = transmit
					row := d.whole(bed.open(ports...), tc.test)
					t.Logf("%d ppm, sent %d, received %d, lost %d, %s", row.Frames.LineRatePPM, row.Frames.Sent, row.Frames.Received, row.Frames.Lost, row.Message)
					tc.right(t, row)
					rows = append(rows, row)
				})
			}
			if len(rows) == 2 {
				tc.same(t, rows[0], rows[1])
			}
		})
	}
}

func sameCounts(t *testing.T, a, b v1alpha1.ResultRow) {
	t.Helper()
	if f, g := a.Frames, b.Frames; f.LineRatePPM != g.LineRatePPM || f.Sent != g.Sent || f.Received != g.Received || f.Lost != g.Lost {
		t.Errorf("%d ppm, sent %d, received %d, lost %d by live frames; %d ppm, %d, %d, %d by AF_XDP",
			f.LineRatePPM, f.Sent, f.Received, f.Lost, g.LineRatePPM, g.Sent, g.Received, g.Lost)
	}
}

// whole measures a row whose sender sent all frames of its load. On a busy machine it is
// measured again, ten times at most.
func (d *device) whole(e *Engine, test v1alpha1.Test) (row v1alpha1.ResultRow) {
	d.Helper()
	info, err := e.Info(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	for range 10 {
		lab, step := d.lab(freshDevice{e, d}, test, nil)
		out, err := method.Run(d.Context(), lab, step)
		if err != nil {
			d.Fatal(err)
		}
		row = result.Row(plan.Plan{}, result.Input{Bed: objects.TestBed(""), Info: info, Outcome: out})
		if row.Frames == nil {
			d.Fatalf("no frames: %s", row.Message)
		}
		if sentAll(out.Trial) && sentAll(out.Limit) {
			return row
		}
		d.Logf("measured again: %s, %v, sent %d", row.Validity, row.ValidityReasons, row.Frames.Sent)
	}
	return row
}

// sentAll reports whether the tester sent every frame of a trial, if there was one.
func sentAll(trial *trials.Trial) bool { return trial == nil || trial.Sent == trial.Intended }

// delay makes the device forward every test frame so much later.
func (d *device) delay(by time.Duration) {
	d.Helper()
	d.objects = d.load(nil)
	d.gro("d1", true)
	var in, out *os.File
	d.in(d.ns, func() {
		in, out = d.socket(d.d1, unix.ETH_P_ALL), d.socket(d.d2, 0)
	})
	// The relay runs late on a busy machine.
	raw, err := in.SyscallConn()
	if err != nil {
		d.Fatal(err)
	}
	if control := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<24) }); control != nil || err != nil {
		d.Fatal(control, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			n, err := in.Read(b)
			if err != nil {
				return // closed
			}
			if data := slices.Clone(b[:n]); isTestFrame(gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)) {
				time.AfterFunc(by, func() { out.Write(data) }) // a frame that was lost here would be missed by the test
			}
		}
	}()
	d.Cleanup(func() { in.Close(); <-done; out.Close() })
}
