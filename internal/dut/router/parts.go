package router

import "strings"

// The daemons of FRR that read a part of a configuration.
const (
	bgpd = "bgpd"
	bfdd = "bfdd"
	pimd = "pimd"
	ldpd = "ldpd"
)

// parts divides a configuration of FRR among its daemons, each of which refuses the commands
// of the others. Those of zebra are left out: the interfaces are configured already. A daemon
// without commands has no part.
func parts(config string) map[string]string {
	of := map[string]string{}
	for _, block := range blocks(config) {
		head := block[0]
		switch {
		case strings.HasPrefix(head, "interface "):
			lines := multicastLines(block)
			if len(lines) > 0 {
				of[pimd] += join(head, lines, "exit")
			}
		case head == "mpls ldp" || strings.HasPrefix(head, "access-list "):
			of[ldpd] += join(head, block[1:])
		case strings.HasPrefix(head, "ip pim "):
			of[pimd] += join(head, block[1:])
		case head == "bfd":
			of[bfdd] += join(head, block[1:])
		case head == "" || head == "end" || strings.HasPrefix(head, "!") || strings.HasSuffix(head, " forwarding"):
		default:
			of[bgpd] += join(head, block[1:])
		}
	}
	return of
}

// blocks are the commands of a configuration, each with the lines that are indented below it
// and the exit that ends them.
func blocks(config string) [][]string {
	var all [][]string
	for line := range strings.Lines(config) {
		line = strings.TrimRight(line, "\r\n")
		if last := len(all) - 1; last >= 0 && (line == "" || line == "exit" || strings.HasPrefix(line, " ")) {
			all[last] = append(all[last], line)
			continue
		}
		all = append(all, []string{line})
	}
	return all
}

// multicastLines returns the lines of an interface that pimd reads.
func multicastLines(block []string) []string {
	var lines []string
	for _, line := range block {
		if strings.HasPrefix(line, " ip pim") || strings.HasPrefix(line, " ip igmp") {
			lines = append(lines, line)
		}
	}
	return lines
}

func join(head string, lines []string, further ...string) string {
	return strings.Join(append(append([]string{head}, lines...), further...), "\n") + "\n"
}
