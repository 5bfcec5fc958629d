package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
)

// labelPeers gives the bed an LDP session on every port, and the profile these routes.
func labelPeers(sets ...v1alpha1.RouteSet) func(*objects) {
	return func(o *objects) {
		peers(sets...)(o)
		o.bed.Spec.Routing = &v1alpha1.BedRouting{LDP: &v1alpha1.LDPRouting{Sessions: []v1alpha1.LDPSession{{Name: "peer"}}}}
	}
}

func labels() v1alpha1.RouteSet {
	return v1alpha1.RouteSet{Name: "labels", Sessions: []string{"peer-p1"}, First: "198.18.128.0/32", Count: 8, Label: 1000, Traffic: new(false)}
}

func TestLDPSessions(t *testing.T) {
	o := router(labelPeers(labels()))
	sessions, errs := Sessions(&o.bed)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	var got []string
	for _, s := range sessions {
		got = append(got, fmt.Sprintf("%v %s %s %s to %s id %s %v %s at %s", s.Protocol, s.Name, s.Port, s.Local, s.Remote, s.RouterID, s.Families, s.HoldTime, s.Path))
	}
	want := []string{
		"LDP peer-p1 p1 198.18.1.2 to 198.18.1.1 id 198.18.1.2 [ipv4LabeledUnicast] 3m0s at TestBed/" + o.bed.Name + ".spec.routing.ldp.sessions[0]",
		"LDP peer-p2 p2 198.18.2.2 to 198.18.2.1 id 198.18.2.2 [ipv4LabeledUnicast] 3m0s at TestBed/" + o.bed.Name + ".spec.routing.ldp.sessions[0]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("sessions\n%q\nwant\n%q", got, want)
	}
	// The device passes the labels on to the other session, and each session has its own.
	_, all := Announcements(&o.profile, &o.bed)
	p := Plan{Sessions: sessions, Announcements: all}
	every := func(int) bool { return true }
	if a, b := p.Advertised(0, every), p.Advertised(1, every); a != (routing.Table{}) || b != sessions[0].Readvertised([]routing.Routes{all[0].Routes}) || b.Routes != 8 {
		t.Errorf("advertised %v and %v", a, b)
	}
}

func TestLDPRefuses(t *testing.T) {
	change := func(f func(*v1alpha1.RouteSet)) v1alpha1.RouteSet {
		s := labels()
		f(&s)
		return s
	}
	for want, o := range map[string]*objects{
		"traffic: Invalid value: true: frames to networks with labels of LDP are not sent: give traffic: false": router(labelPeers(change(func(s *v1alpha1.RouteSet) { s.Traffic = nil }))),
		"asPath: Invalid value: [65010]: LDP distributes labels of prefixes, and nothing else of a path":        router(labelPeers(change(func(s *v1alpha1.RouteSet) { s.ASPath = []int64{65010} }))),
		"communities: Invalid value: [\"1:2\"]: LDP distributes":                                                router(labelPeers(change(func(s *v1alpha1.RouteSet) { s.Communities = []string{"1:2"} }))),
		"med: Invalid value: 5: LDP distributes":                                                                router(labelPeers(change(func(s *v1alpha1.RouteSet) { s.MED = new(int64(5)) }))),
		"shared: Invalid value: true: the device has one next hop":                                              router(labelPeers(change(func(s *v1alpha1.RouteSet) { s.Shared = new(true) }))),
		"does not carry ipv4Unicast":                                                                            router(labelPeers(change(func(s *v1alpha1.RouteSet) { s.Label = 0 }))),
	} {
		o.bed.Spec.Engine.Kind = v1alpha1.EngineXDP
		_, errs := validateBoth(o)
		if text := fmt.Sprint(errs.ToAggregate()); !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text, want)
		}
	}
	o := router(labelPeers())
	o.bed.Spec.Routing.LDP.Sessions = []v1alpha1.LDPSession{{Name: "a", Port: "p1", RouterID: "198.18.1.2"}, {Name: "b", Port: "p2", RouterID: "198.18.1.2"}}
	if _, errs := Sessions(&o.bed); !strings.Contains(fmt.Sprint(errs.ToAggregate()), "sessions a and b have one LSR ID, by which the device knows its peers: give another routerID") {
		t.Error(errs)
	}
	o = router(labelPeers())
	sessions, _ := Sessions(&o.bed)
	if err := needsBGP(Setting{Bed: &o.bed, Sessions: sessions}, field.NewPath("spec")); !overLDP(sessions) || !strings.Contains(err.Error(), "are of LDP, and the test is about BGP: choose a bed with routing.bgp; over LDP there is routeCapacity") {
		t.Error(err)
	}
}

// validateBoth validates the routing of bed and profile.
func validateBoth(o *objects) ([]Session, field.ErrorList) {
	sessions, errs := Sessions(&o.bed)
	if len(errs) > 0 {
		return nil, errs
	}
	for i, set := range o.profile.Spec.Routing.Routes {
		errs = append(errs, validateSet(set, sessions, &o.bed, field.NewPath("routes").Index(i))...)
	}
	return sessions, errs
}
