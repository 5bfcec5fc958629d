package tcpmodel

import "time"

// The parameters below were fitted to the published table testdata/incast_8mb_9000mtu.csv. They are the same for all
// numbers of servers, and the hosts are the same for both switches. docs/design/incast-model.md has the reasons.

// LinuxHosts2011 returns hosts with 10 Gbit/s cards and the Linux of the year 2011, without a switch. Each iteration opens
// its connections one after the other.
func LinuxHosts2011() Params {
	p := Defaults()
	p.Switch = Switch{}
	p.Hosts = Hosts{
		Delay: 5 * time.Microsecond, Jitter: 150 * time.Microsecond, ResponseJitter: 300 * time.Microsecond,
		RequestSpacing: 100 * time.Microsecond, IterationGap: time.Millisecond,
	}
	p.TCP = TCP{
		CongestionControl: Cubic, InitialWindow: 10, ReceiveWindowBytes: 224_000, GrowthLimit: 1,
		MinRTO: 200 * time.Millisecond, MaxRTO: 2 * time.Minute, DelayedAck: 40 * time.Millisecond, SACK: true, LostRetransmit: true,
	}
	return p
}

// Arista7124S returns a switch with one small queue for each output port.
func Arista7124S() Switch { return Switch{Buffering: OutputBuffer, BufferBytes: 275_000} }

// Nexus5010 returns a switch that queues frames at the port where they come in, so that its buffer grows with the servers.
func Nexus5010() Switch { return Switch{Buffering: InputBuffer, PortBytes: 160_000} }
