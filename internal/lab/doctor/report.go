package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Report is the result of all checks.
type Report struct {
	// Bed that was checked; "" for the whole cluster.
	Bed string `json:"bed,omitempty"`
	// Lab is the lab's namespace.
	Lab string `json:"labNamespace"`
	// Namespace is the operator's.
	Namespace string `json:"operatorNamespace"`
	// Engines, one line each.
	Engines []Summary `json:"engines"`
	// Findings of every check.
	Findings []Finding `json:"findings"`
}

// State of an engine.
type State string

const (
	// Ready has all that it needs.
	Ready State = "Ready"
	// Lacking means that something is missing.
	Lacking State = "Missing"
	// NotKnown means that nothing is known to be missing, but something could not be seen.
	NotKnown State = "Unknown"
)

// Summary of an engine: the numbers are those of the cluster and, where one node
// is enough, of the node that lacks least.
type Summary struct {
	// Engine that it is about.
	Engine Engine `json:"engine"`
	// State of the engine.
	State State `json:"state"`
	// Missing is the number of missing things.
	Missing int `json:"missing"`
	// Unknown is the number of things that could not be seen.
	Unknown int `json:"unknown"`
	// MissingChecks are the names of the checks of what is missing, with their node
	// where every node is needed.
	MissingChecks []string `json:"missingChecks,omitempty"`
	// UnknownChecks are the names of the checks that could not be made.
	UnknownChecks []string `json:"unknownChecks,omitempty"`
	// Nodes that have all, where one is enough and not all of them have it.
	Nodes []string `json:"nodes,omitempty"`
}

// lack contains the names of the failed and the unknown checks of a node or of the cluster.
type lack struct{ missing, unknown []string }

func (l lack) plus(m lack) lack {
	return lack{slices.Concat(l.missing, m.missing), slices.Concat(l.unknown, m.unknown)}
}

func (l lack) none() bool { return len(l.missing)+len(l.unknown) == 0 }

func summarise(e Engine, findings []Finding, every bool) Summary {
	var nodes []string
	lacks := map[string]lack{}
	for _, f := range findings {
		if f.Node != "" && !slices.Contains(nodes, f.Node) {
			nodes = append(nodes, f.Node)
		}
		name := f.Check
		if every && f.Node != "" {
			name += " on " + f.Node
		}
		l := lacks[f.Node]
		switch f.Level {
		case Missing:
			l.missing = append(l.missing, name)
		case Unknown:
			l.unknown = append(l.unknown, name)
		}
		lacks[f.Node] = l
	}
	total := lacks[""]
	s := Summary{Engine: e}
	switch {
	case len(nodes) == 0:
	case every:
		for _, n := range nodes {
			total = total.plus(lacks[n])
		}
	default:
		best := slices.MinFunc(nodes, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(lacks[a].missing), len(lacks[b].missing)), cmp.Compare(len(lacks[a].unknown), len(lacks[b].unknown)))
		})
		for _, n := range nodes {
			if lacks[n].none() {
				s.Nodes = append(s.Nodes, n)
			}
		}
		if len(s.Nodes) == len(nodes) {
			s.Nodes = nil
		}
		total = total.plus(lacks[best])
	}
	s.Missing, s.MissingChecks = len(total.missing), total.missing
	s.Unknown, s.UnknownChecks = len(total.unknown), total.unknown
	switch {
	case s.Missing > 0:
		s.State = Lacking
	case s.Unknown > 0:
		s.State = NotKnown
	default:
		s.State = Ready
	}
	return s
}

// String is the engine's line: "xdp: ready", or "xdp: 1 thing missing (Multus)".
func (s Summary) String() string {
	var parts []string
	if s.Missing > 0 {
		parts = append(parts, things(s.MissingChecks)+" missing"+inBrackets(s.MissingChecks))
	}
	if s.Unknown > 0 {
		parts = append(parts, things(s.UnknownChecks)+" not known"+inBrackets(s.UnknownChecks))
	}
	text := "ready"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ")
	} else if len(s.Nodes) > 0 {
		text += " on " + strings.Join(s.Nodes, ", ")
	}
	return s.Engine.Title() + ": " + text
}

func things(checks []string) string {
	if len(checks) == 1 {
		return "1 thing"
	}
	return fmt.Sprintf("%d things", len(checks))
}

func inBrackets(checks []string) string { return " (" + strings.Join(checks, ", ") + ")" }

// State is the worst of the engines.
func (r Report) State() State {
	worst := Ready
	for _, s := range r.Engines {
		if s.State == Lacking || worst == Ready {
			worst = s.State
		}
	}
	return worst
}
