package trials

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/internal/traffic"
)

// restoreMulticast starts a multicast router anew that has ended, and has it forward the
// groups again. A method with groups of its own joins them again itself.
func (l *Tester) restoreMulticast(ctx context.Context) error {
	if l.multicastEnded() == "" {
		return nil
	}
	if err := l.Router.Restart(ctx); err != nil {
		return err
	}
	if l.ownGroups {
		return nil
	}
	if err := l.prepare(ctx); err != nil {
		return fmt.Errorf("joining the groups of a router that was started anew: %w", err)
	}
	return l.Learn(ctx)
}

// unroutedMulticast returns a note if the multicast router ended in a trial: lost frames are
// then no result of the device.
func (l *Tester) unroutedMulticast() []traffic.Note {
	why := l.multicastEnded()
	if why == "" {
		return nil
	}
	return []traffic.Note{{Kind: traffic.NoteRouter, Text: "the router of the device ended during the trial: " + why}}
}

// multicastEnded returns the reason why the router that routes multicast has ended; empty
// while it runs, or if it is unknown.
func (l *Tester) multicastEnded() string {
	if !l.Plan.RoutesMulticast || l.Router == nil {
		return ""
	}
	return l.Router.Ended()
}
