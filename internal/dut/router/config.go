package router

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/template"
	"time"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Config contains the configuration of a device.
type Config struct {
	// ASN of the device.
	ASN uint32
	// RouterID of the device, an IPv4 address.
	RouterID netip.Addr
	// Interfaces of the device; none where they are configured already. BIRD does not
	// configure interfaces, so that they are comments there.
	Interfaces []Interface
	// PIM configures multicast routing between the interfaces; nil if the device does
	// none.
	PIM *PIM
	// LDP configures label distribution; nil if the device does none.
	LDP *LDP
	// Sessions of the tester with it.
	Sessions []routing.Session
	// Accept are the networks whose prefixes the device accepts from the tester; it
	// accepts all without any.
	Accept []netip.Prefix
	// Passwords reports whether the passwords of TCP MD5 are written; otherwise a placeholder
	// with the name of the session is.
	Passwords bool
	// FIBFirst has FRR advertise a route once the kernel forwards by it: the tester begins
	// to send to routes that it has learnt. The other kinds have no such option.
	FIBFirst bool
}

// PIM is PIM sparse mode of a device (RFC 7761), for IPv4.
type PIM struct {
	// RendezvousPoint of all groups.
	RendezvousPoint netip.Addr
}

// LDP is the Label Distribution Protocol of a device (RFC 5036), for IPv4, with ordered control:
// it advertises a label for a network when it has the label of its next hop. The device needs
// routes to the networks by another way than BGP, whose routes FRR gives no labels of LDP.
type LDP struct {
	// Transport is the address of the device in all sessions.
	Transport netip.Addr
}

// Interface is an interface of the device.
type Interface struct {
	// Name of the interface on the device, and Port of the tester at its other end.
	Name, Port string
	// Addresses of the device with prefix length.
	Addresses []netip.Prefix
	// VLANs that the addresses are in.
	VLANs frame.VLANs
}

//go:embed templates/*.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"seconds": func(d time.Duration) int { return int(d / time.Second) },
	"millis":  func(d time.Duration) int64 { return d.Milliseconds() },
	"third":   func(d time.Duration) int { return int(d / time.Second / 3) },
	"micros":  func(d time.Duration) int64 { return d.Microseconds() },
	"upper":   strings.ToUpper,
	"seq":     func(i int) int { return 10 * (i + 1) },
}).ParseFS(files, "templates/*.tmpl"))

// Kinds of devices that Render knows.
func Kinds() []string {
	var kinds []string
	for _, t := range templates.Templates() {
		if name, ok := strings.CutSuffix(t.Name(), ".tmpl"); ok {
			kinds = append(kinds, name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// multicastKinds are the kinds of devices that route multicast.
func multicastKinds() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool { return kinds[kind].noPIM })
}

// ldpKinds are the kinds of devices whose configuration has LDP.
func ldpKinds() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool { return !kinds[kind].ldp })
}

// Render writes the configuration for a kind of device.
func Render(w io.Writer, kind string, c Config) error {
	t := templates.Lookup(kind + ".tmpl")
	if t == nil {
		return fmt.Errorf("no configuration for devices of the kind %q; there are: %s", kind, strings.Join(Kinds(), ", "))
	}
	v := view{Config: c}
	if c.PIM != nil && kinds[kind].noPIM {
		return fmt.Errorf("pim: %s does not route multicast; these do: %s", kinds[kind].name, strings.Join(multicastKinds(), ", "))
	}
	if c.LDP != nil && !kinds[kind].ldp {
		return fmt.Errorf("ldp: there is no configuration of LDP for %s; these kinds have one: %s", kinds[kind].name, strings.Join(ldpKinds(), ", "))
	}
	for _, i := range c.Interfaces {
		if err := possibleInterface(kind, i); err != nil {
			return err
		}
	}
	for _, s := range c.Sessions {
		if err := possible(kind, s); err != nil {
			return err
		}
		if n := (neighbor{s, c.Passwords}); s.Protocol == routing.LDP {
			v.LabelPeers = append(v.LabelPeers, n)
		} else {
			v.Neighbors = append(v.Neighbors, n)
		}
	}
	if len(v.Neighbors)+len(v.LabelPeers) == 0 {
		v.Accept = nil // Nothing is announced.
	}
	slices.SortStableFunc(v.Neighbors, func(a, b neighbor) int {
		return cmp.Compare(a.Local.BitLen(), b.Local.BitLen())
	})
	return t.Execute(w, v)
}
