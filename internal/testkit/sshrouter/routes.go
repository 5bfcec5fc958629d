package sshrouter

import "strings"

// Routes are the routes and labels of the device that people have added, as its own program prints them.
func (l *Linux) Routes() string {
	l.t.Helper()
	var out strings.Builder
	for _, family := range []string{"-4", "-6", "-f mpls"} {
		args := append(append([]string{"ip"}, strings.Fields(family)...), "-o", "route", "show", "proto", "boot")
		for line := range strings.Lines(l.Run(args...)) {
			out.WriteString("ip " + family + " route add " + strings.ReplaceAll(line, `\`, " "))
		}
	}
	return out.String()
}
