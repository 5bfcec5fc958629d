package method

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/workload"
)

// Bulk belongs to tests of another method.
func (f *fakeWorkload) Bulk(context.Context, workload.BulkRequest) (workload.Bulk, error) {
	return workload.Bulk{}, errors.New("the fake has no receiver")
}

// fakeBulk moves 3, 1 and 4 MB over three connections in a second. Package kernelstack is tested on real sockets.
type fakeBulk struct {
	fakeWorkload
	change   func(*workload.Bulk)
	requests []workload.BulkRequest
}

func (f *fakeBulk) Bulk(_ context.Context, r workload.BulkRequest) (workload.Bulk, error) {
	f.requests = append(f.requests, r)
	out := workload.Bulk{Took: time.Second, Timeouts: 2, Settings: workload.Settings{CongestionControl: "cubic", MTU: r.MTU}}
	for _, n := range []int64{3_000_000, 1_000_000, 4_000_000} {
		out.Connections = append(out.Connections, workload.BulkConnection{
			Sent: n, Received: n, SenderCPU: 100 * time.Millisecond, ReceiverCPU: 500 * time.Millisecond,
			TCP: workload.Connection{Retransmissions: uint64(n / 1_000_000), Busy: time.Second, WindowLimited: time.Second / 4},
		})
	}
	if f.change != nil {
		f.change(&out)
	}
	return out, nil
}

func bulkTest() v1alpha1.Test {
	return v1alpha1.Test{Name: "bulk", Bulk: &v1alpha1.BulkTest{Size: 8_000_000, Connections: 3, MTU: 1500}}
}

func TestBulk(t *testing.T) {
	p, err := planOf(t, bulkTest())
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeBulk{}
	row := workloadRows(t, p, fake)[0]
	s := row.Bulk
	if row.Name() != "bulk" || row.Frames != nil || s.SentBytes != 8_000_000 || s.ReceivedBytes != 8_000_000 || s.GoodputBitsPerSecond != 64_000_000 || s.TookNs != 1e9 ||
		s.SmallestSharePPM != 125_000 || s.LargestSharePPM != 500_000 || s.Retransmissions != 8 || s.Timeouts != 2 || s.LostConnections != 0 ||
		*s.SenderCPUPPM != 300_000 || *s.ReceiverCPUPPM != 1_500_000 || s.WindowLimitedPPM != 250_000 || s.CongestionControl != "cubic" {
		t.Errorf("%s: %+v", row.Name(), s)
	}
	if !slices.Equal(s.ReceivedByConnection, []int64{3_000_000, 1_000_000, 4_000_000}) || !slices.Equal(s.RetransmissionsByConnection, []int64{3, 1, 4}) {
		t.Errorf("%v, %v", s.ReceivedByConnection, s.RetransmissionsByConnection)
	}
	want := workload.BulkRequest{Sender: p.Ports[0].Name, Receiver: p.Ports[1].Name, Bytes: 8_000_000, Connections: 3, MTU: 1500}
	if len(fake.requests) != 1 || fake.requests[0] != want {
		t.Errorf("%+v, want %+v", fake.requests, want)
	}
}

func TestDataOfABulk(t *testing.T) {
	for _, tc := range []struct {
		size     int64
		duration time.Duration
		want     workload.BulkRequest
		lasts    time.Duration
	}{
		{0, 0, workload.BulkRequest{Bytes: 5_000_000_000}, 40 * time.Second},
		{1_000_000, 0, workload.BulkRequest{Bytes: 1_000_000}, 8 * time.Millisecond},
		{0, time.Minute, workload.BulkRequest{Duration: time.Minute}, time.Minute},
	} {
		test := bulkTest()
		test.Bulk.Size, test.Bulk.Duration = tc.size, metav1.Duration{Duration: tc.duration}
		p, err := planOf(t, test)
		if err != nil {
			t.Fatal(err)
		}
		fake := &fakeBulk{}
		workloadRows(t, p, fake)
		if r := fake.requests[0]; r.Bytes != tc.want.Bytes || r.Duration != tc.want.Duration || bulkTime(test.Bulk) != tc.lasts {
			t.Errorf("%+v in %s, want %+v in %s", r, bulkTime(test.Bulk), tc.want, tc.lasts)
		}
	}
}

func TestBulkIsJudged(t *testing.T) {
	p, err := planOf(t, bulkTest())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*workload.Bulk)
		want   v1alpha1.Validity
		reason string
	}{
		"busy processors": {func(b *workload.Bulk) { b.Limits.BusyPPM = 990_000 }, v1alpha1.ValidityGeneratorBound, "busy for 99 %"},
		"a busy thread":   {func(b *workload.Bulk) { b.Connections[2].ReceiverCPU = 970 * time.Millisecond }, v1alpha1.ValidityGeneratorBound, "used a processor for 97 %"},
		"another MTU":     {func(b *workload.Bulk) { b.Settings.MTU = 1400 }, v1alpha1.ValidityInvalid, "the hosts had 1400"},
		"a lost connection": {func(b *workload.Bulk) {
			b.Connections[1].Received, b.Connections[1].Problem = 7, "connection 2 was lost"
		}, v1alpha1.ValidityInvalid, "connection 2 was lost; 7000007 of 8000000 bytes of the data set arrived"},
		"two lost connections": {func(b *workload.Bulk) {
			b.Connections[1].Problem, b.Connections[2].Problem = "connection 2 was lost", "connection 3 was lost"
		}, v1alpha1.ValidityInvalid, "connection 2 was lost; 2 of 3 connections were lost"},
		"missing bytes":   {func(b *workload.Bulk) { b.Connections = b.Connections[:2] }, v1alpha1.ValidityInvalid, "4000000 of 8000000 bytes of the data set arrived"},
		"nothing unusual": {nil, v1alpha1.ValiditySimulated, "model"},
	} {
		row := workloadRows(t, p, &fakeBulk{change: tc.change})[0]
		if row.Validity != tc.want || !strings.Contains(strings.Join(row.ValidityReasons, "; "), tc.reason) {
			t.Errorf("%s: %s %q", name, row.Validity, row.ValidityReasons)
		}
		if want := map[string]int64{"a lost connection": 1, "two lost connections": 2}[name]; row.Bulk.LostConnections != want {
			t.Errorf("%s: %d lost connections, want %d", name, row.Bulk.LostConnections, want)
		}
	}
	tester := open(t, simulate(t, ideal, p), p, nil)
	if _, err := Run(t.Context(), tester, p.Steps[0]); err == nil || !strings.Contains(err.Error(), "run hosts with TCP") {
		t.Errorf("without an engine: %v", err)
	}
}

// The model forwards segments of full size at line rate: 1448 of 1538 bytes on the wire are useful.
func TestBulkOfTheModel(t *testing.T) {
	p, err := planOf(t, bulkTest())
	if err != nil {
		t.Fatal(err)
	}
	tester := open(t, simulate(t, ideal, p), p, nil)
	trials.WithWorkload(tester.Generator.Generator.(workload.Host).Workload())(tester)
	out, err := Run(t.Context(), tester, p.Steps[0])
	if err != nil {
		t.Fatal(err)
	}
	s := rowOf(p, out).Bulk
	want := p.Ports[0].BitsPerSecond * 1448 / 1538
	if off := s.GoodputBitsPerSecond - want; s.ReceivedBytes != 8_000_000 || off > want/1e5 || off < -want/1e5 || s.SenderCPUPPM != nil || len(s.ReceivedByConnection) != 3 {
		t.Errorf("%+v, want %d bit/s", s, want)
	}
}

func TestBedsWithoutPlaceForABulk(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.BulkTest)
		want   string
	}{
		"a sender that is no port":   {func(b *v1alpha1.BulkTest) { b.Sender = "p99" }, `sender: Unsupported value: "p99"`},
		"a receiver that is no port": {func(b *v1alpha1.BulkTest) { b.Receiver = "p99" }, `receiver: Unsupported value: "p99"`},
		"one port":                   {func(b *v1alpha1.BulkTest) { b.Sender, b.Receiver = "p2", "p2" }, "sender and receiver need two ports: choose another port than p2"},
	} {
		test := bulkTest()
		tc.change(test.Bulk)
		if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
