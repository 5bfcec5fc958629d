package v1alpha1

// UDP ports of a packet that names none, which the schema fills in only where udp is given:
// a source above those that services use, and the discard port. RFC 2544 appendix C.2.6.4
// has the echo port, from which a host would answer.
const (
	udpSourcePort      = 20001
	udpDestinationPort = 9
)

// UDPPorts are the ranges of UDP ports that the frames have; without a port where they
// have no UDP.
func (p *Packet) UDPPorts() (source, destination PortRange) {
	if p.IPv4 == nil && p.IPv6 == nil {
		return source, destination
	}
	source, destination = PortRange{First: udpSourcePort, Count: 1}, PortRange{First: udpDestinationPort, Count: 1}
	if p.UDP == nil {
		return source, destination
	}
	if r := p.UDP.SourcePorts; r != nil {
		source = *r
	}
	if r := p.UDP.DestinationPorts; r != nil {
		destination = *r
	}
	return source, destination
}
