package method

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/workload"
)

// fakeWorkload answers with one completion time for each number of servers. Package kernelstack is tested on real
// sockets.
type fakeWorkload struct {
	took     map[int]time.Duration
	change   func(*workload.Incast)
	requests []workload.IncastRequest
	calls    []string
	// failures is the number of incasts that fail before one does not.
	failures int
}

func (f *fakeWorkload) Close() error { return nil }

func (f *fakeWorkload) Incast(_ context.Context, r workload.IncastRequest) (workload.Incast, error) {
	f.requests, f.calls = append(f.requests, r), append(f.calls, "ask")
	if f.failures > 0 {
		f.failures--
		return workload.Incast{}, errors.New("the hosts of the incast are gone")
	}
	took, known := f.took[len(r.Blocks)]
	if !known {
		return workload.Incast{}, errors.New("server 7 does not answer")
	}
	out := workload.Incast{
		Completions: []time.Duration{took, 3 * took}, Skews: []time.Duration{2, 4},
		Settings: workload.Settings{CongestionControl: "cubic", MTU: r.MTU},
	}
	for range r.Blocks {
		out.Connections = append(out.Connections, workload.Connection{Retransmissions: 3, Timeouts: 1, Busy: time.Second, WindowLimited: time.Second / 4})
	}
	if f.change != nil {
		f.change(&out)
	}
	return out, nil
}

// ConnectIncast and DisconnectIncast note the order of calls.
func (f *fakeWorkload) ConnectIncast(_ context.Context, r workload.IncastRequest) error {
	f.calls = append(f.calls, "connect")
	return nil
}

func (f *fakeWorkload) DisconnectIncast(context.Context) (workload.Segments, error) {
	f.calls = append(f.calls, "disconnect")
	return workload.Segments{Sent: 100, Received: 93}, nil
}

// fakeDrops counts 10 more packets each time.
type fakeDrops struct{ n uint64 }

func (f *fakeDrops) Dropped(string) (uint64, bool, error) { f.n += 10; return f.n, true, nil }

func incastTest(servers ...int32) v1alpha1.Test {
	return v1alpha1.Test{Name: "incast", Incast: &v1alpha1.IncastTest{Servers: servers, BlockSize: 1000, Iterations: 2, MTU: 1500}}
}

func TestIncast(t *testing.T) {
	p, err := planOf(t, incastTest(4, 1, 2, 16, 8))
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeWorkload{took: map[int]time.Duration{1: time.Millisecond, 2: 10 * time.Millisecond, 4: 4 * time.Millisecond, 8: 40 * time.Millisecond, 16: 80 * time.Millisecond}}
	tester := open(t, simulate(t, ideal, p), p, nil)
	trials.WithWorkload(fake)(tester)
	trials.WithDrops(&fakeDrops{})(tester)
	var rows []v1alpha1.ResultRow
	for _, step := range p.Steps {
		out, err := Run(t.Context(), tester, step)
		if err != nil {
			t.Fatal(err)
		}
		row := rowOf(p, out)
		Done(tester, row)
		rows = append(rows, row)
	}
	type figures struct {
		servers              int32
		goodput, avg         int64
		collapsed, from      int64
		retransmissions, max int64
	}
	var got []figures
	for _, row := range rows {
		s := row.Incast
		f := figures{servers: row.Servers, goodput: s.GoodputBitsPerSecond, avg: s.Completion.AvgNs, retransmissions: s.Retransmissions, max: s.Completion.MaxNs, collapsed: -1}
		if s.Collapsed != nil {
			f.collapsed = map[bool]int64{true: 1}[*s.Collapsed]
		}
		if s.CollapsedFrom != nil {
			f.from = *s.CollapsedFrom
		}
		got = append(got, f)
		if row.Frames != nil || *s.DeviceDrops != 10 || s.CongestionControl != "cubic" || s.Iterations != 2 || s.WindowLimitedPPM != 250_000 || s.Timeouts != int64(row.Servers) || s.SkewAvgNs != 3 || s.SkewMaxNs != 4 {
			t.Errorf("%s: %+v", row.Name(), s)
		}
	}
	// 8,000 bits from each server, twice, over four times the shorter completion time.
	want := []figures{
		{1, 4_000_000, 2_000_000, -1, 0, 3, 3_000_000},
		{2, 800_000, 20_000_000, 1, 2, 6, 30_000_000},
		{4, 4_000_000, 8_000_000, 0, 0, 12, 12_000_000},
		{8, 800_000, 80_000_000, 1, 8, 24, 120_000_000},
		{16, 800_000, 160_000_000, 1, 8, 48, 240_000_000},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if name := rows[3].Name(); name != "incast with 8 servers" {
		t.Errorf("the row is %q", name)
	}
	if r := fake.requests[0]; r.Client != p.Ports[0].Name || len(r.Servers) != len(p.Ports)-1 || slices.Contains(r.Servers, r.Client) {
		t.Errorf("client %s, servers %v", r.Client, r.Servers)
	}
}

func TestIncastIsJudged(t *testing.T) {
	p, err := planOf(t, incastTest(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*workload.Incast)
		want   v1alpha1.Validity
		reason string
	}{
		"busy processors":   {func(i *workload.Incast) { i.Limits.BusyPPM = 990_000 }, v1alpha1.ValidityGeneratorBound, "busy for 99 %"},
		"packets lost":      {func(i *workload.Incast) { i.Limits.SoftnetDrops = 2 }, v1alpha1.ValidityGeneratorBound, "dropped 2 packets"},
		"another MTU":       {func(i *workload.Incast) { i.Settings.MTU = 1400 }, v1alpha1.ValidityInvalid, "the hosts had 1400"},
		"an offload":        {func(i *workload.Incast) { i.Settings.Offloads = []string{"rx-gro"} }, v1alpha1.ValidityInvalid, "rx-gro"},
		"nothing unusual":   {nil, v1alpha1.ValiditySimulated, "model"},
		"drops of a device": {func(i *workload.Incast) { i.DeviceDrops = new(uint64(5)) }, v1alpha1.ValiditySimulated, "model"},
	} {
		tester := open(t, simulate(t, ideal, p), p, nil)
		trials.WithWorkload(&fakeWorkload{took: map[int]time.Duration{1: time.Millisecond}, change: tc.change})(tester)
		out, err := Run(t.Context(), tester, p.Steps[0])
		if err != nil {
			t.Fatal(err)
		}
		row := rowOf(p, out)
		if row.Validity != tc.want || !strings.Contains(strings.Join(row.ValidityReasons, "; "), tc.reason) {
			t.Errorf("%s: %s %q", name, row.Validity, row.ValidityReasons)
		}
		if drops := row.Incast.DeviceDrops; (drops != nil) != (name == "drops of a device") {
			t.Errorf("%s: drops %v", name, drops)
		}
	}
	tester := open(t, simulate(t, ideal, p), p, nil)
	if _, err := Run(t.Context(), tester, p.Steps[0]); err == nil || !strings.Contains(err.Error(), "run hosts with TCP") {
		t.Errorf("without an engine: %v", err)
	}
}

func TestBlocksOfServers(t *testing.T) {
	if got := blocks(&v1alpha1.IncastTest{}, 2); !slices.Equal(got, []int64{8_000_000, 8_000_000}) {
		t.Errorf("default: %v", got)
	}
	if got := blocks(&v1alpha1.IncastTest{TotalSize: 7}, 3); !slices.Equal(got, []int64{3, 2, 2}) {
		t.Errorf("striped: %v", got)
	}
}

func TestBedsWithoutPlaceForIncast(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.IncastTest)
		want   string
	}{
		"a client that is no port": {func(i *v1alpha1.IncastTest) { i.Client = "p99" }, `client: Unsupported value: "p99"`},
		"too few bytes":            {func(i *v1alpha1.IncastTest) { i.BlockSize, i.TotalSize, i.Servers = 0, 128, []int32{129} }, "129 servers send at least 1 byte each"},
	} {
		test := incastTest(1)
		tc.change(test.Incast)
		if _, err := planOf(t, test); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
