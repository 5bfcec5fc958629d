package manifest

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/internal/base/hint"
)

// ResolveBed finds a bed without a benchmark: the one of that name, or the only one
// without a name. The bundle has the bed alone.
func (s *Set) ResolveBed(name string) (*Bundle, error) {
	found := s.documents.find(func(d *document) bool { return d.kind == "TestBed" && (name == "" || d.name == name) })
	names := s.documents.names("TestBed")
	switch {
	case len(names) == 0:
		return nil, hint.With(fmt.Errorf("no TestBed in what was given with -f: %s", s.documents.inventory()), "name the file with the TestBed")
	case len(found) == 0:
		return nil, hint.With(fmt.Errorf("no TestBed is called %q", name), oneOf("the beds given are", name, names))
	case name == "" && len(found) > 1:
		var given []string
		for _, d := range found {
			given = append(given, d.name)
		}
		return nil, hint.With(fmt.Errorf("there are %d beds: %s", len(given), strings.Join(given, ", ")), "name the one that is meant after the flags")
	}
	d, err := only(found)
	if err != nil {
		return nil, err
	}
	r := s.resolver()
	return r.bundle, r.takeBed(d)
}
