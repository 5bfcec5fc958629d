package bgp

import (
	"net/netip"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
)

// asTrans goes into the two octets of OPEN where the number needs four (RFC 6793).
const asTrans = 23456

var families = map[routing.Family]bgp.Family{
	routing.IPv4Unicast:        bgp.RF_IPv4_UC,
	routing.IPv6Unicast:        bgp.RF_IPv6_UC,
	routing.IPv4LabeledUnicast: bgp.RF_IPv4_MPLS,
	routing.IPv6LabeledUnicast: bgp.RF_IPv6_MPLS,
}

// openMessage is the OPEN message of a session.
func openMessage(s *routing.Session) (*bgp.BGPMessage, error) {
	capabilities := []bgp.ParameterCapabilityInterface{bgp.NewCapRouteRefresh(), bgp.NewCapFourOctetASNumber(s.LocalASN)}
	var paths []*bgp.CapAddPathTuple
	for _, f := range s.Families {
		capabilities = append(capabilities, bgp.NewCapMultiProtocol(families[f]))
		paths = append(paths, bgp.NewCapAddPathTuple(families[f], bgp.BGP_ADD_PATH_BOTH))
	}
	if s.AddPath {
		capabilities = append(capabilities, bgp.NewCapAddPath(paths))
	}
	asn := s.LocalASN
	if asn > 65535 {
		asn = asTrans
	}
	return bgp.NewBGPOpenMessage(uint16(asn), uint16(s.HoldTime/time.Second), s.RouterID,
		[]bgp.OptionParameterInterface{bgp.NewOptionParameterCapability(capabilities)})
}

// terms contains what both sides agreed on by their OPEN messages.
type terms struct {
	hold time.Duration
	// refresh reports whether the device knows ROUTE-REFRESH (RFC 2918).
	refresh bool
	// options by which messages of the device are decoded; AddPath has all families.
	options *bgp.MarshallingOption
}

// agree compares the OPEN message of the device with what the session demands.
func agree(s *routing.Session, open *bgp.BGPOpen) (*terms, *cause) {
	asn, err := bgp.ValidateOpenMsg(open, 0, s.LocalASN, s.RouterID)
	if err != nil {
		c := malformed("OPEN", err)
		c.final = true
		return nil, c
	}
	if asn != s.RemoteASN {
		c := refuse(bgp.BGP_ERROR_OPEN_MESSAGE_ERROR, bgp.BGP_ERROR_SUB_BAD_PEER_AS, "the device is in AS %d, the bed says %d", asn, s.RemoteASN)
		c.final = true
		return nil, c
	}
	t := &terms{hold: min(s.HoldTime, time.Duration(open.HoldTime)*time.Second), options: &bgp.MarshallingOption{AddPath: map[bgp.Family]bgp.BGPAddPathMode{}}}
	offered, paths, fourOctets := map[bgp.Family]bool{}, map[bgp.Family]bgp.BGPAddPathMode{}, false
	for _, p := range open.OptParams {
		parameter, ok := p.(*bgp.OptionParameterCapability)
		if !ok {
			continue
		}
		for _, c := range parameter.Capability {
			switch c := c.(type) {
			case *bgp.CapMultiProtocol:
				offered[c.CapValue] = true
			case *bgp.CapFourOctetASNumber:
				fourOctets = true
			case *bgp.CapRouteRefresh:
				t.refresh = true
			case *bgp.CapAddPath:
				for _, tuple := range c.Tuples {
					paths[tuple.Family] = tuple.Mode
				}
			}
		}
	}
	if len(offered) == 0 {
		offered[bgp.RF_IPv4_UC] = true // RFC 4760, section 8
	}
	if !fourOctets {
		c := refuse(bgp.BGP_ERROR_OPEN_MESSAGE_ERROR, bgp.BGP_ERROR_SUB_UNSUPPORTED_CAPABILITY, "the device does not offer AS numbers of four octets (RFC 6793)")
		c.final = true
		return nil, c
	}
	for _, f := range s.Families {
		rf := families[f]
		if !offered[rf] {
			c := refuse(bgp.BGP_ERROR_OPEN_MESSAGE_ERROR, bgp.BGP_ERROR_SUB_UNSUPPORTED_CAPABILITY,
				"the device does not offer the family %s; activate it for the neighbor %v", f, s.Local)
			c.final = true
			return nil, c
		}
		var mode bgp.BGPAddPathMode
		if s.AddPath {
			// What one side sends the other must receive.
			if paths[rf]&bgp.BGP_ADD_PATH_SEND > 0 {
				mode |= bgp.BGP_ADD_PATH_RECEIVE
			}
			if paths[rf]&bgp.BGP_ADD_PATH_RECEIVE > 0 {
				mode |= bgp.BGP_ADD_PATH_SEND
			}
			if mode&bgp.BGP_ADD_PATH_SEND == 0 {
				c := refuse(bgp.BGP_ERROR_OPEN_MESSAGE_ERROR, bgp.BGP_ERROR_SUB_UNSUPPORTED_CAPABILITY,
					"the device does not receive several paths of a prefix in the family %s (RFC 7911)", f)
				c.final = true
				return nil, c
			}
		}
		t.options.AddPath[rf] = mode
	}
	return t, nil
}

// zeroAddress reports whether an address is missing or unspecified.
func zeroAddress(a netip.Addr) bool { return !a.IsValid() || a.IsUnspecified() }
