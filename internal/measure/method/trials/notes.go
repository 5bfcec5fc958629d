package trials

import (
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/traffic"
)

// Notes are the notes of the engine on a trial.
type Notes []traffic.Note

// has reports whether the engine made such a note.
func (n Notes) has(kind traffic.NoteKind) bool {
	return slices.ContainsFunc(n, func(one traffic.Note) bool { return one.Kind == kind })
}

// HeldBack reports whether the device held ports of the tester back, which is why they
// sent less than intended (RFC 2285 section 3.7.1).
func (n Notes) HeldBack() bool { return n.has(traffic.NoteHeldBack) }

// Contended reports whether others used the processors of the tester during the trial.
func (n Notes) Contended() bool { return n.has(traffic.NoteForeignLoad) }

// unrouted reports whether a BGP session of the tester, or the routing software of the device, was
// down during the trial.
func (n Notes) unrouted() bool { return n.has(traffic.NoteSession) || n.has(traffic.NoteRouter) }

// HeldBackText describes by how much the device held the senders back; empty if it did not.
func (n Notes) HeldBackText() string {
	var texts []string
	for _, one := range n {
		if one.Kind == traffic.NoteHeldBack {
			texts = append(texts, one.Text)
		}
	}
	return strings.Join(texts, "; ")
}
