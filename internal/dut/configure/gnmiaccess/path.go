package gnmiaccess

import (
	"maps"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// Path returns a path of elements, of which none has keys.
func Path(names ...string) *gnmi.Path {
	p := &gnmi.Path{}
	for _, n := range names {
		p.Elem = append(p.Elem, &gnmi.PathElem{Name: n})
	}
	return p
}

// With gives the last element of a path a key, and returns the path.
func With(p *gnmi.Path, key, value string) *gnmi.Path {
	p.Elem[len(p.Elem)-1].Key = map[string]string{key: value}
	return p
}

// join returns a path behind a prefix.
func join(prefix, p *gnmi.Path) *gnmi.Path {
	return &gnmi.Path{Elem: slices.Concat(prefix.GetElem(), p.GetElem())}
}

// Text returns a path as people write it: /interfaces/interface[name=e1]/config.
func Text(p *gnmi.Path) string {
	var out strings.Builder
	for _, e := range p.GetElem() {
		out.WriteString("/" + e.Name)
		for _, k := range slices.Sorted(maps.Keys(e.Key)) {
			out.WriteString("[" + k + "=" + e.Key[k] + "]")
		}
	}
	if out.Len() == 0 {
		return "/"
	}
	return out.String()
}

// Local returns the name of an element without its module: interfaces for openconfig-interfaces:interfaces.
func Local(name string) string {
	if _, local, found := strings.Cut(name, ":"); found {
		return local
	}
	return name
}
