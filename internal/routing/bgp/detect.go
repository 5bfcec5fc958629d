package bgp

import (
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing/bfd"
)

// bfdDown is the subcode BFD Down of Cease (RFC 9384).
const bfdDown = 10

// undetected returns the state of BFD before it comes up.
func (s *session) undetected() bfd.State {
	if s.Conf.BFD == nil {
		return bfd.State{Up: true}
	}
	return bfd.State{Cause: "BFD does not come up: no control packet has come from the device"}
}

// startBFD starts BFD next to a session that has it, once BGP is up: routers begin then,
// and FRR begins anew. Stop ends it.
func (s *session) startBFD() (stop func(), _ *cause) {
	if s.Conf.BFD == nil {
		return func() {}, nil
	}
	b, err := bfd.Start(bfd.Config{
		Local: s.Conf.Local, Remote: s.Conf.Remote, Interval: s.Conf.BFD.Interval, Multiplier: s.Conf.BFD.Multiplier,
		In: s.port.In, Changed: s.detect,
	})
	if err != nil {
		return nil, because("%v", err)
	}
	return func() { _ = b.Close() }, nil // Its sockets are of no use any more.
}

// establish makes the session established once BGP and BFD both are up.
func (s *session) establish() {
	switch {
	case s.detected.Up:
		s.Establish()
	case s.State.Flaps == 0:
		s.State.Cause = s.detected.Cause
	}
	s.Notify()
}

// detect takes in how BFD is. When it goes down so does BGP (RFC 5882, section 4.1).
func (s *session) detect(state bfd.State) {
	s.Lock()
	defer s.Unlock()
	s.detected = state
	switch {
	case s.up == nil:
	case state.Up:
		s.establish()
	default:
		s.up.end(refuse(bgp.BGP_ERROR_CEASE, bfdDown, "%s", state.Cause))
	}
}
