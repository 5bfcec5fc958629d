package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
)

// defaultLDPHoldTime is the KeepAlive time that routers propose by default.
const defaultLDPHoldTime = 180 * time.Second

// ldpSessions are the LDP sessions of a bed. What they share with BGP is read in the same way:
// ports, addresses, router IDs and passwords.
func ldpSessions(bed *v1alpha1.TestBed) ([]Session, field.ErrorList) {
	var entries []v1alpha1.BGPSession
	for _, s := range bed.Spec.Routing.LDP.Sessions {
		if s.HoldTime == nil {
			s.HoldTime = &metav1.Duration{Duration: defaultLDPHoldTime}
		}
		entries = append(entries, v1alpha1.BGPSession{
			Name: s.Name, Port: s.Port, Address: s.Address, DeviceAddress: s.DeviceAddress, RouterID: s.RouterID,
			HoldTime: s.HoldTime, PasswordSecretRef: s.PasswordSecretRef,
			Families: []v1alpha1.BGPFamily{v1alpha1.BGPIPv4LabeledUnicast},
		})
	}
	all, errs := sessionsOf(bed, entries, 0, bedPath(bed).Child("routing", "ldp", "sessions"))
	ids := map[netip.Addr]string{}
	for i := range all {
		s := &all[i]
		s.Protocol = routing.LDP
		if other, taken := ids[s.RouterID]; taken {
			errs = append(errs, field.Invalid(s.Path.Child("routerID"), s.RouterID.String(), fmt.Sprintf(
				"sessions %s and %s have one LSR ID, by which the device knows its peers: give another routerID", other, s.Name)))
			break
		}
		ids[s.RouterID] = s.Name
	}
	return all, errs
}

// overLDP reports whether the sessions are of LDP.
func overLDP(sessions []Session) bool {
	return slices.ContainsFunc(sessions, func(s Session) bool { return s.Protocol == routing.LDP })
}

// needsBGP refuses a test about BGP on a bed with LDP sessions.
func needsBGP(in Setting, path *field.Path) *field.Error {
	return field.Invalid(path, in.Bed.Name, fmt.Sprintf(
		"the sessions of test bed %s are of LDP, and the test is about BGP: choose a bed with routing.bgp; over LDP there is routeCapacity", in.Bed.Name))
}

// validateLDPSet refuses what a set has that LDP does not distribute, and frames to its
// networks, which would arrive with a label.
func validateLDPSet(set v1alpha1.RouteSet, path *field.Path) field.ErrorList {
	const onlyLabels = "LDP distributes labels of prefixes, and nothing else of a path: remove it"
	var errs field.ErrorList
	if len(set.ASPath) > 0 {
		errs = append(errs, field.Invalid(path.Child("asPath"), set.ASPath, onlyLabels))
	}
	if set.MED != nil {
		errs = append(errs, field.Invalid(path.Child("med"), *set.MED, onlyLabels))
	}
	if len(set.Communities) > 0 {
		errs = append(errs, field.Invalid(path.Child("communities"), set.Communities, onlyLabels))
	}
	if set.Shared != nil && *set.Shared {
		errs = append(errs, field.Invalid(path.Child("shared"), true, "the device has one next hop for each network of the LDP sessions: leave it out"))
	}
	if set.Traffic == nil || *set.Traffic {
		errs = append(errs, field.Invalid(path.Child("traffic"), true, "frames to networks with labels of LDP are not sent: give traffic: false"))
	}
	return errs
}
