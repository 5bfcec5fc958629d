package plan

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// groups has the device of the bed route multicast to groups.
func groups(change func(*objects)) *objects {
	return router(func(o *objects) {
		o.bed.Spec.Routing = &v1alpha1.BedRouting{PIM: &v1alpha1.PIMRouting{}}
		o.profile.Spec.Pattern = v1alpha1.Pattern{FanOut: &v1alpha1.FanOutPattern{Groups: 4}}
		change(o)
	})
}

func TestRendezvousPoint(t *testing.T) {
	for name, tc := range map[string]struct {
		change     func(*objects)
		want, fail string
	}{
		"the device":     {func(*objects) {}, "198.18.1.1", ""},
		"another router": {func(o *objects) { o.bed.Spec.Routing.PIM.RendezvousPoint = "10.9.9.9" }, "10.9.9.9", ""},
		"a port":         {func(o *objects) { o.bed.Spec.Routing.PIM.RendezvousPoint = "198.18.2.2" }, "", `routing.pim.rendezvousPoint: Invalid value: "198.18.2.2": this is the address of port p2, which is no router`},
		"a group":        {func(o *objects) { o.bed.Spec.Routing.PIM.RendezvousPoint = "225.1.1.1" }, "", "give a unicast IPv4 address"},
		"a port without gateway": {func(o *objects) { o.bed.Spec.Ports[1].Gateways = []string{"2001:2:0:2::1"} }, "",
			"TestBed/bed.spec.ports[1].gateways: Required value: the device routes multicast (routing.pim), and port p2 has no IPv4 gateway"},
	} {
		o := groups(tc.change)
		point, errs := RendezvousPoint(&o.bed)
		if tc.fail != "" {
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.fail) {
				t.Errorf("%s: %v, want %s", name, errs, tc.fail)
			}
			if again := ValidateBed(&o.bed); len(again) != 1 || again[0].Error() != errs[0].Error() {
				t.Errorf("%s: the bed is validated with %v", name, again)
			}
			continue
		}
		if len(errs) > 0 || point.String() != tc.want {
			t.Errorf("%s: %s, %v", name, point, errs)
		}
		if p := mustBuild(t, o); !p.RoutesMulticast {
			t.Errorf("%s: the plan does not know that the device routes multicast", name)
		}
	}
}

func TestGroupsThatPIMDoesNotRoute(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*objects)
		want   string
	}{
		"IPv6": {func(o *objects) {
			o.profile.Spec.Packet = v1alpha1.Packet{IPv6: &v1alpha1.IPPacket{HostsPerPort: 1}}
			o.profile.Spec.FrameSizes = []int32{128}
		},
			`TrafficProfile/profile.spec.packet: Invalid value: "ipv6": the device of test bed bed routes multicast of IPv4 (routing.pim)`},
		"of single senders": {func(o *objects) { o.profile.Spec.Pattern.FanOut.FirstGroup = "231.255.255.254" },
			`TrafficProfile/profile.spec.pattern.fanOut.firstGroup: Invalid value: "232.0.0.0": groups of 232.0.0.0/8 are joined for single senders`},
	} {
		o := groups(tc.change).complete()
		errs := Validate(&o.benchmark, &o.profile, &o.bed)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, errs, tc.want)
		}
	}
}
