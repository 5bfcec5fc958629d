package device

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
)

// Config is what a device has to know.
type Config struct {
	// ASN of the device.
	ASN uint32
	// RouterID of the device, an IPv4 address.
	RouterID netip.Addr
	// Sessions of the tester with it.
	Sessions []routing.Session
	// Passwords says that the passwords of TCP MD5 are written; otherwise a placeholder
	// with the name of the session is.
	Passwords bool
}

//go:embed templates/*.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"seconds": func(d time.Duration) int { return int(d / time.Second) },
	"millis":  func(d time.Duration) int64 { return d.Milliseconds() },
	"third":   func(d time.Duration) int { return int(d / time.Second / 3) },
	"micros":  func(d time.Duration) int64 { return d.Microseconds() },
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

// Render writes the configuration for a kind of device. It holds BGP only: interfaces,
// their addresses and forwarding are configured already.
func Render(w io.Writer, kind string, c Config) error {
	t := templates.Lookup(kind + ".tmpl")
	if t == nil {
		return fmt.Errorf("no configuration for devices of the kind %q; there are: %s", kind, strings.Join(Kinds(), ", "))
	}
	v := view{Config: c}
	for _, s := range c.Sessions {
		if err := possible(kind, s); err != nil {
			return err
		}
		v.Neighbors = append(v.Neighbors, neighbor{s, c.Passwords})
	}
	slices.SortStableFunc(v.Neighbors, func(a, b neighbor) int {
		return cmp.Compare(a.Local.BitLen(), b.Local.BitLen())
	})
	return t.Execute(w, v)
}

// possible says what of a session a kind of device cannot do.
func possible(kind string, s routing.Session) error {
	if strings.ContainsFunc(string(s.Password), func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return fmt.Errorf("session %s: the password has a character that configurations do not hold: only visible ASCII without quotation mark and backslash is possible", s.Name)
	}
	has := func(f routing.Family) bool { return slices.Contains(s.Families, f) }
	switch {
	case kind == FRR && (has(routing.IPv4Unicast) && has(routing.IPv4LabeledUnicast) || has(routing.IPv6Unicast) && has(routing.IPv6LabeledUnicast)):
		return fmt.Errorf("session %s: families: FRR has either unicast or labeled unicast of an IP version on a session; make two sessions of it", s.Name)
	case kind == BIRD && (has(routing.IPv4LabeledUnicast) || has(routing.IPv6LabeledUnicast)):
		return fmt.Errorf("session %s: families: BIRD has no labeled unicast", s.Name)
	}
	return nil
}

// view is what templates see.
type view struct {
	Config
	Neighbors []neighbor
}

// Carries says whether a neighbor has a family.
func (v view) Carries(f routing.Family) bool {
	return slices.ContainsFunc(v.Neighbors, func(n neighbor) bool { return n.Carries(f) })
}

// Afis are the families as templates go through them.
func (v view) Afis() (all []routing.Family) {
	for _, f := range []routing.Family{routing.IPv4Unicast, routing.IPv6Unicast, routing.IPv4LabeledUnicast, routing.IPv6LabeledUnicast} {
		if v.Carries(f) {
			all = append(all, f)
		}
	}
	return all
}

// BFD says whether a neighbor has it.
func (v view) BFD() bool {
	return slices.ContainsFunc(v.Neighbors, func(n neighbor) bool { return n.BFD != nil })
}

// neighbor is the tester as the device sees it: Local is its address.
type neighbor struct {
	routing.Session
	passwords bool
}

// Carries says whether the session has a family.
func (n neighbor) Carries(f routing.Family) bool { return slices.Contains(n.Families, f) }

// Secret is the password, or a placeholder; empty for none.
func (n neighbor) Secret() string {
	if n.Password == "" || n.passwords {
		return string(n.Password)
	}
	return "PASSWORD-OF-" + strings.ToUpper(n.Name)
}
