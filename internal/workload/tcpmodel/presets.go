package tcpmodel

import "time"

// Defaults returns 4 servers with 10 Gbit/s links and Linux 2.6, and a switch with a buffer of 1 MB. Each
// iteration opens its connections one after the other. The hosts were fitted to the published table
// testdata/incast_8mb_9000mtu.csv, with the same values for both switches and all numbers of servers.
// docs/design/incast-model.md has the reasons.
func Defaults() Params {
	return Params{
		Servers: 4, Iterations: 50, BlockBytes: 1 << 20, LinkMbps: 10_000, ServerLinkMbps: 10_000, Propagation: 500 * time.Nanosecond, MTUBytes: 1500,
		Switch: Switch{Buffering: OutputBuffer, BufferBytes: 1_000_000},
		Hosts: Hosts{
			Delay: time.Microsecond, Jitter: 140 * time.Microsecond, ResponseJitter: 300 * time.Microsecond,
			RequestSpacing: 300 * time.Microsecond, IterationGap: time.Millisecond,
		},
		TCP: TCP{
			CongestionControl: Cubic, InitialWindow: 3, ReceiveWindowBytes: 224_000, GrowthLimit: 1,
			MinRTO: 200 * time.Millisecond, MaxRTO: 2 * time.Minute, DelayedAck: 40 * time.Millisecond, SACK: true, LostRetransmit: true,
		},
	}
}

// Arista7124S returns a switch with one small queue for each output port, fitted to the table.
func Arista7124S() Switch { return Switch{Buffering: OutputBuffer, BufferBytes: 275_000} }

// Nexus5010 returns a switch that queues frames at the port where they come in, fitted to the table. Its buffer grows with
// the number of servers.
func Nexus5010() Switch { return Switch{Buffering: InputBuffer, PortBytes: 160_000} }
