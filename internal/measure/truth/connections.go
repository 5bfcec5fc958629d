package truth

import (
	"context"
	"errors"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/workload"
)

// errConnectionsOnly refuses other requests than connections.
var errConnectionsOnly = errors.New("the model has connections only")

// connectionsModel models a device with a table of connections, and hosts.
type connectionsModel struct {
	// table is the number of connections that the device holds.
	table int64
	// openRate and closeRate are the highest rates in connections per second without a lost packet.
	openRate, closeRate float64
	// hostRate is the highest rate of the hosts.
	hostRate float64
}

var _ workload.Engine = connectionsModel{}

// Close implements workload.Engine.
func (connectionsModel) Close() error { return nil }

// Incast implements workload.Engine.
func (connectionsModel) Incast(context.Context, workload.IncastRequest) (out workload.Incast, err error) {
	return out, errConnectionsOnly
}

// ConnectIncast implements workload.Engine.
func (connectionsModel) ConnectIncast(context.Context, workload.IncastRequest) error {
	return errConnectionsOnly
}

// DisconnectIncast implements workload.Engine.
func (connectionsModel) DisconnectIncast(context.Context) (out workload.Segments, err error) {
	return out, errConnectionsOnly
}

// RPC implements workload.Engine.
func (connectionsModel) RPC(context.Context, workload.RPCRequest) (out workload.RPC, err error) {
	return out, errConnectionsOnly
}

// Collective implements workload.Engine.
func (connectionsModel) Collective(context.Context, workload.CollectiveRequest) (out workload.Collective, err error) {
	return out, errConnectionsOnly
}

// Bulk implements workload.Engine.
func (connectionsModel) Bulk(context.Context, workload.BulkRequest) (out workload.Bulk, err error) {
	return out, errConnectionsOnly
}

// Messages implements workload.Engine.
func (connectionsModel) Messages(context.Context, workload.MessagesRequest) (out workload.Messages, err error) {
	return out, errConnectionsOnly
}

// Connections implements workload.Engine. Hosts send lost packets of TCP again.
func (m connectionsModel) Connections(ctx context.Context, r workload.ConnectionsRequest) (c workload.Connections, err error) {
	all := int64(r.Connections)
	lost := func(asked, most float64) uint64 {
		if asked = min(asked, m.hostRate); asked <= most {
			return 0
		}
		return uint64(math.Ceil(float64(all) * (1 - most/asked)))
	}
	took := func(n int64, rate float64) time.Duration {
		return time.Duration(float64(n-1) / min(rate, m.hostRate) * float64(time.Second))
	}
	c = workload.Connections{Attempted: all, Established: min(all, m.table), MTU: r.MTU}
	c.OpenSpan = took(all, r.OpenRate)
	if r.Protocol == workload.UDP {
		c.Established = min(c.Established, all-int64(lost(r.OpenRate, m.openRate)))
		c.TimedOut, c.Verified = all-c.Established, c.Established
	} else {
		c.TimedOut, c.Verified, c.Closed = all-c.Established, c.Established, c.Established
		c.OpenRetransmissions, c.CloseRetransmissions = lost(r.OpenRate, m.openRate), lost(r.CloseRate, m.closeRate)
		c.CloseSpan = took(c.Verified, r.CloseRate)
	}
	for range c.Established {
		c.SetUps = append(c.SetUps, time.Millisecond)
	}
	return c, ctx.Err()
}

// drawConnections makes a pair whose device has a table and rates.
func drawConnections(r draw) Pair {
	d := r.forwarder()
	m := connectionsModel{table: r.between(100, 3000), openRate: r.spread(50, 50_000), closeRate: r.spread(50, 50_000), hostRate: 1e6}
	if r.chance(20) {
		m.hostRate = r.spread(1000, 50_000)
	}
	test := v1alpha1.ConnectionsTest{
		Measure: one(r, v1alpha1.ConnectionsSetUpRate, v1alpha1.ConnectionsCapacity, v1alpha1.ConnectionsTearDownRate), Connections: 2000, Rate: 500,
		MinimumRate: 100, MaximumRate: 20_000, Resolution: int32(r.between(10, 500)), Clients: 2, Servers: 2,
	}
	test.Protocol = v1alpha1.ConnectionsTCP
	if test.Measure != v1alpha1.ConnectionsTearDownRate && r.chance(50) {
		test.Protocol, test.WaitTime = v1alpha1.ConnectionsUDP, &metav1.Duration{Duration: time.Second}
	}
	if test.Protocol == v1alpha1.ConnectionsUDP && test.Measure == v1alpha1.ConnectionsCapacity {
		m.openRate = float64(test.Rate) // Datagrams are not sent again.
	}
	if test.Measure != v1alpha1.ConnectionsCapacity {
		m.table = int64(test.Connections)
	}
	return Pair{
		Device: d, Tester: r.tester(d, time.Second), Config: d.config(v1alpha1.Test{Name: "connections", Connections: &test}), Workload: m,
		Claims: func(row *v1alpha1.ResultRow) []Claim {
			s := row.Connections
			if s == nil {
				return nil
			}
			rate := func(figure string, found int64, truth float64) []Claim {
				high := float64(s.FailedRate)
				if s.FailedRate == 0 {
					high = math.Inf(1)
				}
				return []Claim{{Figure: figure, Low: float64(found), High: high, TrueLow: truth, TrueHigh: truth}}
			}
			switch {
			case s.SetUpRate != nil:
				return rate("set-up rate, connections/s", *s.SetUpRate, m.openRate)
			case s.TearDownRate != nil:
				return rate("tear-down rate, connections/s", *s.TearDownRate, m.closeRate)
			case s.Capacity != nil:
				truth := float64(min(m.table, int64(test.Connections)))
				return []Claim{{Figure: "connections together", Low: float64(*s.Capacity), High: float64(*s.Capacity), TrueLow: truth, TrueHigh: truth}}
			}
			return nil
		},
	}
}
