package remote

import (
	"fmt"
	"net/netip"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/remote/speakerpb"
)

// sessionToWire leaves the password out.
func sessionToWire(s routing.Session) *speakerpb.Session {
	w := &speakerpb.Session{
		Name: s.Name, Port: s.Port, Local: s.Local.AsSlice(), Remote: s.Remote.AsSlice(),
		LocalAsn: s.LocalASN, RemoteAsn: s.RemoteASN, RouterId: s.RouterID.AsSlice(),
		HoldTimeNanos: int64(s.HoldTime), AddPath: s.AddPath, Protocol: string(s.Protocol),
	}
	for _, f := range s.Families {
		w.Families = append(w.Families, string(f))
	}
	if s.BFD != nil {
		w.Bfd = &speakerpb.BFD{IntervalNanos: int64(s.BFD.Interval), Multiplier: uint32(s.BFD.Multiplier)}
	}
	return w
}

func sessionFromWire(w *speakerpb.Session) (routing.Session, error) {
	s := routing.Session{
		Name: w.GetName(), Port: w.GetPort(), LocalASN: w.GetLocalAsn(), RemoteASN: w.GetRemoteAsn(),
		HoldTime: time.Duration(w.GetHoldTimeNanos()), AddPath: w.GetAddPath(), Protocol: routing.Protocol(w.GetProtocol()),
	}
	for _, a := range []struct {
		from []byte
		to   *netip.Addr
	}{{w.GetLocal(), &s.Local}, {w.GetRemote(), &s.Remote}, {w.GetRouterId(), &s.RouterID}} {
		var err error
		if *a.to, err = addressFromWire(a.from); err != nil {
			return s, fmt.Errorf("session %s: %w", s.Name, err)
		}
	}
	for _, f := range w.GetFamilies() {
		s.Families = append(s.Families, routing.Family(f))
	}
	if b := w.GetBfd(); b != nil {
		if b.GetMultiplier() > 255 {
			return s, fmt.Errorf("session %s: bfd: the multiplier %d is above 255", s.Name, b.GetMultiplier())
		}
		s.BFD = &routing.BFD{Interval: time.Duration(b.GetIntervalNanos()), Multiplier: uint8(b.GetMultiplier())}
	}
	return s, nil
}

// addressFromWire is the zero Addr for no bytes.
func addressFromWire(b []byte) (netip.Addr, error) {
	if len(b) == 0 {
		return netip.Addr{}, nil
	}
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return a, fmt.Errorf("an address has %d bytes", len(b))
	}
	return a, nil
}

func routesToWire(r routing.Routes) *speakerpb.Routes {
	a := r.Attributes
	return &speakerpb.Routes{
		Name: r.Name, First: r.First.Addr().AsSlice(), FirstBits: uint32(r.First.Bits()), Count: r.Count, Stride: r.Stride,
		NextHop: a.NextHop.AsSlice(), AsPath: a.ASPath, Med: a.MED, Communities: a.Communities, Label: a.Label, PathId: a.PathID,
	}
}

func routesFromWire(w *speakerpb.Routes) (routing.Routes, error) {
	r := routing.Routes{
		Name: w.GetName(), Count: w.GetCount(), Stride: w.GetStride(),
		Attributes: routing.Attributes{ASPath: w.GetAsPath(), MED: w.Med, Communities: w.GetCommunities(), Label: w.GetLabel(), PathID: w.GetPathId()},
	}
	first, err := addressFromWire(w.GetFirst())
	if err == nil {
		r.First = netip.PrefixFrom(first, int(w.GetFirstBits()))
		r.Attributes.NextHop, err = addressFromWire(w.GetNextHop())
	}
	if err != nil {
		return r, fmt.Errorf("routes %s: %w", r.Name, err)
	}
	return r, nil
}

func sentToWire(s routing.Sent, err error) *speakerpb.SentResponse {
	return &speakerpb.SentResponse{
		Failure: failureToWire(err), FirstNs: s.First, LastNs: s.Last,
		Routes: s.Routes, Messages: s.Messages, Bytes: s.Bytes, OwnNanos: int64(s.Own),
	}
}

func sentFromWire(w *speakerpb.SentResponse) routing.Sent {
	return routing.Sent{
		First: w.GetFirstNs(), Last: w.GetLastNs(),
		Routes: w.GetRoutes(), Messages: w.GetMessages(), Bytes: w.GetBytes(), Own: time.Duration(w.GetOwnNanos()),
	}
}

func tableToWire(t routing.Table) *speakerpb.Table {
	return &speakerpb.Table{Routes: t.Routes, Digest: t.Digest}
}

func tableFromWire(w *speakerpb.Table) routing.Table {
	return routing.Table{Routes: w.GetRoutes(), Digest: w.GetDigest()}
}

func learntToWire(l routing.Learnt, err error) *speakerpb.LearntResponse {
	return &speakerpb.LearntResponse{
		Failure: failureToWire(err), Table: tableToWire(l.Table), LastNs: l.Last,
		Updates: l.Updates, Withdrawn: l.Withdrawn, Looped: l.Looped,
	}
}

func learntFromWire(w *speakerpb.LearntResponse) routing.Learnt {
	return routing.Learnt{
		Table: tableFromWire(w.GetTable()), Last: w.GetLastNs(),
		Updates: w.GetUpdates(), Withdrawn: w.GetWithdrawn(), Looped: w.GetLooped(),
	}
}

func stateToWire(s routing.State) *speakerpb.State {
	return &speakerpb.State{Session: s.Session, Established: s.Established, SinceNs: s.Since, Flaps: int64(s.Flaps), Cause: s.Cause}
}

func stateFromWire(w *speakerpb.State) routing.State {
	return routing.State{Session: w.GetSession(), Established: w.GetEstablished(), Since: w.GetSinceNs(), Flaps: int(w.GetFlaps()), Cause: w.GetCause()}
}
