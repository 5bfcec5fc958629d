package trials

import (
	"fmt"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/measure/plan"
)

// Silence explains a trial from which no frame came back.
func (s Setup) Silence(t *Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no test frame came back on %s in %s", list(t.Silent), max(t.Duration, learnTime))
	unresolved := s.Hops.Unresolved
	for i, u := range unresolved {
		if i == 2 {
			fmt.Fprintf(&b, "; %d more neighbors did not answer", len(unresolved)-i)
			break
		}
		b.WriteString("; " + u.Unanswered())
	}
	if len(unresolved) == 0 {
		fmt.Fprintf(&b, "; every neighbor answered: check the device's routes and filters%s, and that its MTU takes the frame", carries(s.Plan.Ports, t.Silent))
	}
	return b.String()
}

// carries advises that the device has the VLAN of a silent port on that port.
func carries(ports []plan.Port, silent []string) string {
	for _, p := range ports {
		if len(p.VLANs) > 0 && slices.Contains(silent, p.Name) {
			return fmt.Sprintf(", that its port at %s is in %s", p.Name, p.VLANs)
		}
	}
	return ""
}

// list names at most three of many.
func list(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more ports", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}
