package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/dut"
	"nodrop.dev/nodrop/internal/dut/device"
	router "nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
	"nodrop.dev/nodrop/internal/routing/speakers"
)

// SecretsEnv names the directory with passwords.
const SecretsEnv = "NODROP_SECRETS"

// Routing are for beds with sessions or multicast routing.
type Routing struct {
	// Kind of router that is started, frr or bird, and memory that it may use; empty for
	// all.
	Kind, Memory string
	// Secrets is the directory with passwords.
	Secrets string
}

// Routers are the routing daemons that can be started.
var Routers = []string{router.BIRD, router.FRR}

// bytes is the memory that the router may use; 0 for all.
func (o *Routing) bytes() (int64, error) {
	if o.Memory == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(o.Memory)
	if err != nil || q.Value() <= 0 {
		return 0, fmt.Errorf("--router-memory: %q is not an amount of memory, such as 256Mi", o.Memory)
	}
	return q.Value(), nil
}

// sessions are the tester's sessions, with the router that is the device.
type sessions struct {
	all []plan.Session
	// pim reports whether the router routes multicast, and ldp whether it distributes labels.
	pim, ldp bool
	options  Routing
	memory   int64
	// version of the router that is started; empty when the device has its own.
	version string
}

// newSessions reads what is to be known of the sessions and the multicast routing of a
// bed, and refuses what cannot be without a cluster; nil without either.
func newSessions(bed *v1alpha1.TestBed, o Routing) (s *sessions, err error) {
	if bed.Spec.Routing == nil {
		return nil, nil
	}
	s = &sessions{options: o, pim: plan.RoutesMulticast(bed), ldp: bed.Spec.Routing.LDP != nil}
	var errs field.ErrorList
	if s.all, errs = plan.Sessions(bed); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	for i, one := range s.all {
		if one.Password != nil {
			if s.all[i].Session.Password, err = o.password(*one.Password); err != nil {
				return nil, fmt.Errorf("%s: %w", one.Path.Child("passwordSecretRef"), err)
			}
		}
	}
	if cabled(bed.Spec.Device) {
		return s, nil
	}
	if device.Of(bed.Spec.Device).Absent {
		return nil, field.Forbidden(field.NewPath("TestBed/"+bed.Name).Child("spec", "routing"), "without a device there is no router that would hold sessions or route multicast: remove routing")
	}
	if !slices.Contains(Routers, o.Kind) {
		return nil, fmt.Errorf("--router: %q is none of %s", o.Kind, strings.Join(Routers, ", "))
	}
	if s.pim && o.Kind != router.FRR {
		return nil, fmt.Errorf("--router: %s does not route multicast, which routing.pim of TestBed %s asks for: leave --router out, so that %s is started", o.Kind, bed.Name, router.FRR)
	}
	if s.ldp && o.Kind != router.FRR {
		return nil, fmt.Errorf("--router: %s has no LDP, which routing.ldp of TestBed %s asks for: leave --router out, so that %s is started", o.Kind, bed.Name, router.FRR)
	}
	if s.memory, err = o.bytes(); err != nil {
		return nil, err
	}
	ports, errs := plan.Ports(bed)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	for _, one := range s.all {
		port := ports[slices.IndexFunc(ports, func(p plan.Port) bool { return p.Name == one.Port })]
		if own := port.Gateway(one.Local.Is6()); own != one.Remote {
			return nil, field.Invalid(one.Path.Child("deviceAddress"), one.Remote.String(), fmt.Sprintf(
				"without a cluster the device is a router whose addresses are the gateways of the ports: give port %s this gateway, or leave deviceAddress out", one.Port))
		}
	}
	if s.pim {
		if err := ownPoint(bed, ports); err != nil {
			return nil, err
		}
	}
	s.version, err = router.Version(context.Background(), o.Kind)
	if missing := (*router.MissingError)(nil); errors.As(err, &missing) {
		return nil, hint.With(fmt.Errorf("TestBed %s has %s, and the router that would be its device cannot be started: %w", bed.Name, s.purpose(), err),
			fmt.Sprintf("sudo apt-get install %s; a bed with the engine sim needs no router", missing.Package))
	}
	return s, err
}

// purpose of the router.
func (s *sessions) purpose() string {
	switch {
	case len(s.all) == 0:
		return "multicast routing"
	case s.ldp:
		return "LDP sessions"
	}
	return "BGP sessions"
}

// ownPoint refuses a rendezvous point other than the router that is made for the run.
func ownPoint(bed *v1alpha1.TestBed, ports []plan.Port) error {
	point, errs := plan.RendezvousPoint(bed)
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	if slices.ContainsFunc(ports, func(p plan.Port) bool { return p.Gateway(false) == point }) {
		return nil
	}
	return field.Invalid(field.NewPath("TestBed/"+bed.Name).Child("spec", "routing", "pim", "rendezvousPoint"), point.String(),
		"without a cluster the device is a router whose addresses are the gateways of the ports, and no other router is there: give one of them, or leave rendezvousPoint out")
}

// routesGroups refuses groups between networks of a router that is made for the run and does
// not route multicast.
func routesGroups(profile *v1alpha1.TrafficProfile, bed *v1alpha1.TestBed) error {
	if cabled(bed.Spec.Device) || plan.RoutesMulticast(bed) {
		return nil
	}
	ports, errs := plan.Ports(bed)
	for _, s := range plan.Sections(profile) {
		member, _, is := plan.MulticastPattern(s.Spec.Pattern)
		ipv6 := s.Spec.Packet.IPv6 != nil
		if !is || !slices.ContainsFunc(ports, func(p plan.Port) bool { return p.Gateway(ipv6).IsValid() }) {
			continue
		}
		advice := "add routing: {pim: {}} to the bed, or remove the gateways of its ports, which are then one network"
		if ipv6 {
			advice = "remove the gateways of its ports, which are then one network; FRR routes multicast of IPv4 only, with packet ipv4 and routing: {pim: {}} of the bed"
		}
		errs = append(errs, field.Invalid(s.Path.Child("pattern", member), bed.Name, fmt.Sprintf(
			"the ports of test bed %s are in several networks, and the router between them that is made without a cluster does not route multicast: %s", bed.Name, advice)))
	}
	return errs.ToAggregate()
}

// password reads a password from the directory with passwords.
func (o *Routing) password(ref v1alpha1.SecretKeyReference) (routing.Secret, error) {
	if o.Secrets == "" {
		return "", hint.With(fmt.Errorf("the password in key %s of Secret %s is not known without a cluster", ref.Key, ref.Name),
			fmt.Sprintf("write it to DIR/%s/%s, and give --secrets DIR or $%s", ref.Name, ref.Key, SecretsEnv))
	}
	root, err := os.OpenRoot(o.Secrets)
	if err != nil {
		return "", fmt.Errorf("opening the directory with passwords: %w", err)
	}
	defer root.Close()
	text, err := root.ReadFile(filepath.Join(ref.Name, ref.Key))
	if err != nil {
		return "", hint.With(fmt.Errorf("reading the password in key %s of Secret %s: %w", ref.Key, ref.Name, err),
			fmt.Sprintf("write it to %s", filepath.Join(o.Secrets, ref.Name, ref.Key)))
	}
	password, err := router.ReadPassword(text)
	if err != nil {
		return "", fmt.Errorf("key %s of Secret %s: %w", ref.Key, ref.Name, err)
	}
	return password, nil
}

// open has the tester speak BGP or LDP from its ports, if there are sessions, and starts the router
// in the namespace of a device that was made for the run. Nothing is done without routing.
func (s *sessions) open(b *Bench, ports []plan.Port) error {
	if s == nil {
		return nil
	}
	if made, ok := b.driver.(*dut.Netns); ok {
		if err := s.start(b, made); err != nil {
			return err
		}
	}
	if len(s.all) == 0 {
		return nil
	}
	options := speakers.Options{Ports: map[string]endpoint.Port{}, Passwords: map[string]routing.Secret{}}
	for _, p := range ports {
		options.Ports[p.Name] = endpoint.Port{Interface: p.Interface}
	}
	for _, one := range s.all {
		options.Passwords[one.Name] = one.Session.Password
	}
	b.speaker = speakers.New(options)
	return nil
}

// start starts the router in the namespace of the device.
func (s *sessions) start(b *Bench, made *dut.Netns) error {
	config := router.Config{ASN: uint32(b.config.Bed.Spec.Routing.BGP.DeviceASN), RouterID: router.DefaultRouterID, Passwords: true, FIBFirst: true}
	for _, one := range s.all {
		config.Sessions = append(config.Sessions, one.Session)
	}
	if s.pim || s.ldp {
		names := map[string]string{}
		for _, p := range b.config.Bed.Spec.Ports {
			names[p.Name] = p.Name
		}
		routed, errs := router.ForBed(&b.config.Bed, s.options.Kind, names)
		if len(errs) > 0 {
			return errs.ToAggregate()
		}
		config.Interfaces, config.PIM, config.LDP = routed.Interfaces, routed.PIM, routed.LDP
		if s.ldp {
			config.RouterID = routed.RouterID
		}
	}
	if s.ldp {
		if err := s.route(b, made); err != nil {
			return err
		}
	}
	var text strings.Builder
	if err := router.Render(&text, s.options.Kind, config); err != nil {
		return err
	}
	var options []router.Option
	if s.memory > 0 {
		options = append(options, router.WithMemory(s.memory))
	}
	r := router.NewRouter(made.Namespace(), s.options.Kind, text.String(), options...)
	if err := r.Start(context.Background()); err != nil {
		return fmt.Errorf("starting the router of the device: %w", err)
	}
	b.router = r
	b.closers = append(b.closers, r.Stop)
	b.Device += ", " + s.version
	if s.memory > 0 {
		b.Device += fmt.Sprintf(" with %d MiB of memory", s.memory>>20)
	}
	return nil
}

// route gives the kernel of the device the routes to the networks whose labels the tester
// announces: LDP distributes labels only of networks to which there are routes.
func (s *sessions) route(b *Bench, made *dut.Netns) error {
	all, announced := plan.Announcements(&b.config.Profile, &b.config.Bed)
	for _, a := range announced {
		if err := router.AddKernelRoutes(made.Namespace(), a.Routes, all[a.Session].Local); err != nil {
			return err
		}
	}
	return nil
}
