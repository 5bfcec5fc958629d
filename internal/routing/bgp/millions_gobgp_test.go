package bgp

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/speakertest"
)

// TestMillionsOfRoutesIntoGoBGP announces as many routes to a GoBGP server, and reads them
// back from its table, each with its attributes.
func TestMillionsOfRoutesIntoGoBGP(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; make test-long does it")
	}
	a := tester(0)
	a.Families = []routing.Family{routing.IPv4Unicast}
	before := heap()
	r := speakertest.NewRouter(t, speakertest.Peer(a))
	s := newSpeaker(t, r.Port)
	if err := s.Open(within(t), []routing.Session{a}); err != nil {
		t.Fatal(err)
	}
	r.AwaitEstablished(t, 1)
	all := set("16.0.0.0/24", millions)
	began := time.Now()
	sent := announceMillions(t, s, all)
	held(t, r, millions)
	took := time.Since(began)
	size := heap() - before

	want := routing.Table{Routes: millions}
	path := routing.PathDigest(append([]uint32{a.LocalASN}, all.Attributes.ASPath...), nil, all.Attributes.Communities)
	for i := range all.Count {
		want.Digest += routing.RouteDigest(routing.IPv4Unicast, all.Prefix(i), path)
	}
	if got := tableOf(t, r); got != want {
		t.Errorf("GoBGP holds %+v, want %+v", got, want)
	}
	t.Logf("%d routes held by GoBGP after %v, of which messages took %v; heap of both %d MB", millions, took, sent.Own, size>>20)
	runtime.KeepAlive(r)
}

func announceMillions(t *testing.T, s *Speaker, all routing.Routes) routing.Sent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	sent, err := s.Announce(ctx, "a", []routing.Routes{all})
	if err != nil {
		t.Fatal(err)
	}
	return sent
}

// held waits until a router has so many routes. To count them holds it up.
func held(t *testing.T, r *speakertest.Router, routes uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for {
		table, err := r.GetTable(ctx, &api.GetTableRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}})
		if err != nil {
			t.Fatal(err)
		}
		if table.NumPath == routes {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("GoBGP holds %d of %d routes", table.NumPath, routes)
		case <-time.After(time.Second):
		}
	}
}

// tableOf returns what a router has learned of IPv4.
func tableOf(t *testing.T, r *speakertest.Router) (got routing.Table) {
	t.Helper()
	if err := r.ListPath(apiutil.ListPathRequest{TableType: api.TableType_TABLE_TYPE_GLOBAL, Family: bgp.RF_IPv4_UC}, func(_ bgp.NLRI, paths []*apiutil.Path) {
		for _, p := range paths {
			var path, communities []uint32
			var med *uint32
			for _, attribute := range p.Attrs {
				switch attribute := attribute.(type) {
				case *bgp.PathAttributeAsPath:
					path = flat(attribute)
				case *bgp.PathAttributeMultiExitDisc:
					med = &attribute.Value
				case *bgp.PathAttributeCommunities:
					communities = attribute.Value
				}
			}
			name, prefix, ok := route(bgp.RF_IPv4_UC, p.Nlri)
			if !ok {
				t.Fatalf("GoBGP holds %v", p.Nlri)
			}
			got = got.Add(routing.Table{Routes: 1, Digest: routing.RouteDigest(name, prefix, routing.PathDigest(path, med, communities))})
		}
	}); err != nil {
		t.Fatal(err)
	}
	return got
}
