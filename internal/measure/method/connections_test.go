package method

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/workload"
)

// Connections is refused: fakeConnections has them.
func (f *fakeWorkload) Connections(context.Context, workload.ConnectionsRequest) (workload.Connections, error) {
	panic("an incast asks for no connections")
}

// fakeConnections is a device with a table and with rates. Package kernelstack is tested on real sockets.
type fakeConnections struct {
	fakeWorkload
	table, open, shut int64
	change            func(*workload.Connections, workload.ConnectionsRequest)
	asked             []workload.ConnectionsRequest
}

func (f *fakeConnections) Connections(_ context.Context, r workload.ConnectionsRequest) (workload.Connections, error) {
	f.asked = append(f.asked, r)
	n := min(int64(r.Connections), f.table)
	c := workload.Connections{
		Attempted: int64(r.Connections), Established: n, Verified: n, Closed: n, TimedOut: int64(r.Connections) - n, MTU: r.MTU,
		SetUps:   []time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond},
		OpenSpan: time.Duration(float64(r.Connections-1) / r.OpenRate * 1e9), CloseSpan: time.Duration(float64(max(n, 2)-1) / r.CloseRate * 1e9),
	}
	if n < c.Attempted {
		c.Examples = []string{"connection 7 was not established in time"}
	}
	if r.Protocol == workload.UDP { // Lost requests are not sent again, and connections have no end.
		c.Closed, c.CloseSpan = 0, 0
		if int64(r.OpenRate) > f.open {
			c.Established, c.Verified, c.TimedOut = n-5, n-5, c.TimedOut+5
		}
	} else if int64(r.OpenRate) > f.open {
		c.OpenRetransmissions = 5
	}
	if int64(r.CloseRate) > f.shut && r.Protocol != workload.UDP {
		c.CloseRetransmissions = 6
	}
	if f.change != nil {
		f.change(&c, r)
	}
	return c, nil
}

// connectionsRow runs a test of connections on a device.
func connectionsRow(t *testing.T, fake *fakeConnections, test v1alpha1.ConnectionsTest) v1alpha1.ResultRow {
	t.Helper()
	test.Connections, test.Rate, test.MinimumRate, test.MaximumRate, test.Resolution, test.Clients, test.Servers = 1000, 500, 100, 20_000, 10, 2, 2
	p, err := planOf(t, v1alpha1.Test{Name: "connections", Connections: &test})
	if err != nil {
		t.Fatal(err)
	}
	return workloadRows(t, p, fake)[0]
}

func TestConnections(t *testing.T) {
	const many = 1_000_000
	for name, tc := range map[string]struct {
		measure  v1alpha1.ConnectionsFigure
		protocol v1alpha1.ConnectionsProtocol
		device   fakeConnections
		// figure and failed rate; -1 for a figure that is absent.
		setUp, capacity, tearDown, failed int64
		reached, unsteady                 bool
		validity                          v1alpha1.Validity
		message                           string
	}{
		"a rate": {
			measure: v1alpha1.ConnectionsSetUpRate, device: fakeConnections{table: many, open: 1234, shut: many},
			setUp: 1231, capacity: -1, tearDown: -1, failed: 1237, validity: v1alpha1.ValiditySimulated, message: "at 1,237 connections/s 5 segments were sent again while connections were opened",
		},
		"a fast device": {
			measure: v1alpha1.ConnectionsSetUpRate, device: fakeConnections{table: many, open: many, shut: 0},
			setUp: 20_000, capacity: -1, tearDown: -1, validity: v1alpha1.ValiditySimulated, message: "the device may be faster",
		},
		"a slow device": {
			measure: v1alpha1.ConnectionsSetUpRate, device: fakeConnections{table: many, open: 99, shut: many},
			capacity: -1, tearDown: -1, failed: 100, validity: v1alpha1.ValiditySimulated, message: "not all connections passed at the lowest rate of 100 connections/s",
		},
		"a rate of ends": {
			measure: v1alpha1.ConnectionsTearDownRate, device: fakeConnections{table: many, open: 500, shut: 150},
			setUp: -1, capacity: -1, tearDown: 150, failed: 156, validity: v1alpha1.ValiditySimulated, message: "6 segments were sent again while connections were closed",
		},
		"ends without connections": {
			measure: v1alpha1.ConnectionsTearDownRate, device: fakeConnections{table: 999, open: many, shut: many},
			setUp: -1, capacity: -1, validity: v1alpha1.ValidityInvalid, message: "connection 7",
		},
		"a table": {
			measure: v1alpha1.ConnectionsCapacity, device: fakeConnections{table: 900, open: many, shut: many},
			setUp: -1, capacity: 900, tearDown: -1, reached: true, validity: v1alpha1.ValiditySimulated, message: "100 of 1,000 connections were not established in time; connection 7 was not established in time",
		},
		"a large table": {
			measure: v1alpha1.ConnectionsCapacity, device: fakeConnections{table: many, open: many, shut: many},
			setUp: -1, capacity: 1000, tearDown: -1, validity: v1alpha1.ValiditySimulated, message: "the device holds at least that many",
		},
		"a device that remembers": {
			measure: v1alpha1.ConnectionsCapacity, device: fakeConnections{table: 900, open: many, shut: many, change: func(c *workload.Connections, r workload.ConnectionsRequest) {
				if r.Connections == 900 {
					c.Established, c.Verified, c.Closed, c.TimedOut = 50, 50, 50, 850
				}
			}},
			setUp: -1, capacity: 900, tearDown: -1, unsteady: true, validity: v1alpha1.ValiditySimulated, message: "of 900 connections alone only 50 were verified",
		},
		"a rate of UDP": {
			measure: v1alpha1.ConnectionsSetUpRate, protocol: v1alpha1.ConnectionsUDP, device: fakeConnections{table: many, open: 1234, shut: 0},
			setUp: 1231, capacity: -1, tearDown: -1, failed: 1237, validity: v1alpha1.ValiditySimulated, message: "at 1,237 connections/s 5 of 1,000 connections were not established in time",
		},
		"a table with UDP": {
			measure: v1alpha1.ConnectionsCapacity, protocol: v1alpha1.ConnectionsUDP, device: fakeConnections{table: 900, open: many, shut: 0},
			setUp: -1, capacity: 900, tearDown: -1, reached: true, validity: v1alpha1.ValiditySimulated, message: "100 of 1,000 connections were not established in time",
		},
		"a table that forgets": {
			measure: v1alpha1.ConnectionsCapacity, protocol: v1alpha1.ConnectionsUDP, device: fakeConnections{table: many, open: many, shut: 0, change: func(c *workload.Connections, _ workload.ConnectionsRequest) {
				c.Verified, c.Unanswered, c.Examples = c.Verified-1, 1, []string{"connection 7 had no answer in time: the device has no entry for it"}
			}},
			setUp: -1, capacity: 999, tearDown: -1, unsteady: true, validity: v1alpha1.ValiditySimulated, message: "1 of 1,000 connections had no answer; connection 7 had no answer in time: the device has no entry for it",
		},
		"a table that keeps entries of UDP": {
			measure: v1alpha1.ConnectionsCapacity, protocol: v1alpha1.ConnectionsUDP, device: fakeConnections{table: 900, open: many, shut: 0, change: func(c *workload.Connections, r workload.ConnectionsRequest) {
				if r.Connections == 900 {
					c.Established, c.Verified, c.TimedOut = 0, 0, 900
				}
			}},
			setUp: -1, capacity: 900, tearDown: -1, unsteady: true, validity: v1alpha1.ValiditySimulated, message: "or keeps earlier ones for longer than waitTime",
		},
		"slow hosts": {
			measure: v1alpha1.ConnectionsSetUpRate, device: fakeConnections{table: many, open: 2000, shut: many, change: func(c *workload.Connections, r workload.ConnectionsRequest) {
				if r.OpenRate > 1000 {
					c.OpenSpan *= 2
				}
			}},
			setUp: 800, capacity: -1, tearDown: -1, failed: 0, validity: v1alpha1.ValidityGeneratorBound,
		},
		"busy hosts": {
			measure: v1alpha1.ConnectionsCapacity, device: fakeConnections{table: 900, open: many, shut: many, change: func(c *workload.Connections, _ workload.ConnectionsRequest) { c.Limits.BusyPPM = 1e6 }},
			setUp: -1, capacity: 900, tearDown: -1, reached: true, validity: v1alpha1.ValiditySimulated,
		},
		"hosts that drop": {
			measure: v1alpha1.ConnectionsCapacity, device: fakeConnections{table: 900, open: many, shut: many, change: func(c *workload.Connections, _ workload.ConnectionsRequest) { c.ServerDrops = 1 }},
			setUp: -1, capacity: 900, tearDown: -1, validity: v1alpha1.ValidityGeneratorBound,
		},
		"another MTU": {
			measure: v1alpha1.ConnectionsCapacity, device: fakeConnections{table: many, open: many, shut: many, change: func(c *workload.Connections, _ workload.ConnectionsRequest) { c.MTU = 1400 }},
			setUp: -1, capacity: 1000, tearDown: -1, validity: v1alpha1.ValidityInvalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			row := connectionsRow(t, &tc.device, v1alpha1.ConnectionsTest{Measure: tc.measure, Protocol: tc.protocol})
			s := row.Connections
			for figure, pair := range map[string]struct {
				got  *int64
				want int64
			}{"set-up": {s.SetUpRate, tc.setUp}, "capacity": {s.Capacity, tc.capacity}, "tear-down": {s.TearDownRate, tc.tearDown}} {
				if (pair.got != nil) != (pair.want >= 0) || pair.got != nil && *pair.got != pair.want {
					t.Errorf("%s: %v, want %d", figure, pair.got, pair.want)
				}
			}
			if s.FailedRate != tc.failed || s.CapacityReached != tc.reached || s.Unsteady != tc.unsteady {
				t.Errorf("%+v", s)
			}
			if row.Validity != tc.validity || !strings.Contains(row.Message, tc.message) {
				t.Errorf("%s %q: %q", row.Validity, row.ValidityReasons, row.Message)
			}
			if s.Trials != int32(len(tc.device.asked)) || s.SetUpP50Ns != 2e6 || s.SetUpMaxNs != 3e6 || row.Frames != nil || s.Protocol != tc.protocol {
				t.Errorf("%d requests: %+v", len(tc.device.asked), s)
			}
			if r := tc.device.asked[0]; r.Client == "" || r.Server == "" || r.Client == r.Server || r.Clients != 2 || r.Servers != 2 || r.MTU != 1500 || string(r.Protocol) != cmp.Or(string(tc.protocol), "TCP") {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestBedsWithoutPlaceForConnections(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ConnectionsTest)
		want   string
	}{
		"a client that is no port": {func(c *v1alpha1.ConnectionsTest) { c.Client = "p99" }, `client: Unsupported value: "p99"`},
		"a server that is no port": {func(c *v1alpha1.ConnectionsTest) { c.Server = "p99" }, "the servers need a port of test bed"},
		"one port":                 {func(c *v1alpha1.ConnectionsTest) { c.Client, c.Server = "sim0", "sim0" }, ""},
		"too few TCP ports":        {func(c *v1alpha1.ConnectionsTest) { c.Connections, c.Clients = 100_000, 1 }, "1 clients have 64,000 ports"},
	} {
		test := v1alpha1.ConnectionsTest{Measure: v1alpha1.ConnectionsCapacity, Connections: 10, Clients: 1, Servers: 1}
		tc.change(&test)
		if _, err := planOf(t, v1alpha1.Test{Name: "connections", Connections: &test}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
