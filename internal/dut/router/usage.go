//go:build linux

package router

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/internal/base/netif"
)

// Routes returns the number of routes in the main tables of IPv4 and IPv6 of the router's
// kernel together, including the routes of its own addresses, and whether it is known. It may be
// called while other methods are. The time grows with the number of routes: the kernel goes
// through all of IPv4.
func (r *Router) Routes() (n int64, known bool) {
	err := netif.In(r.namespace, func() (err error) {
		n, err = kernelRoutes()
		return err
	})
	return n, err == nil
}

// kernelRoutes counts the routes in the network namespace of the calling thread.
func kernelRoutes() (int64, error) {
	ipv4, err := mainPrefixes("/proc/thread-self/net/fib_triestat")
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile("/proc/thread-self/net/rt6_stats")
	if os.IsNotExist(err) {
		return ipv4, nil // A kernel without IPv6.
	}
	if err != nil {
		return 0, fmt.Errorf("counting routes: %w", err)
	}
	// The fourth number is the number of routes in the tables; all are hexadecimal.
	f := strings.Fields(string(text))
	if len(f) < 4 {
		return 0, fmt.Errorf("counting routes: rt6_stats is %q", text)
	}
	ipv6, err := strconv.ParseInt(f[3], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("counting routes: %w", err)
	}
	return ipv4 + ipv6, nil
}

// mainPrefixes reads how many routes the main table of IPv4 has.
func mainPrefixes(file string) (int64, error) {
	opened, err := os.Open(file)
	if err != nil {
		return 0, fmt.Errorf("counting routes: %w", err)
	}
	defer opened.Close()
	table := ""
	for lines := bufio.NewScanner(opened); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if name, is := strings.CutSuffix(line, ":"); is {
			table = name
		}
		if count, is := strings.CutPrefix(line, "Prefixes:"); is && table == "Main" {
			n, err := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("counting routes: %w", err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("counting routes: %s has no table Main", file)
}

// Memory returns the number of bytes that the processes have in RAM for themselves (RssAnon of
// proc_pid_status(5)), and whether it is known. It is not known if one of them has ended. It
// does not include what the kernel uses for their routes.
func (d *Daemons) Memory() (bytes int64, known bool) {
	for _, c := range d.commands {
		for _, pid := range append(children(c.Process.Pid), c.Process.Pid) {
			n, ok := resident(pid)
			if !ok {
				return 0, false
			}
			bytes += n
		}
	}
	return bytes, len(d.commands) > 0
}

// children are the processes that a process has started, such as the two of ldpd that have its
// sessions and its labels.
func children(pid int) []int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil // It has ended, or the kernel does not list them.
	}
	var all []int
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			all = append(all, child)
		}
	}
	return all
}

// resident is the memory of a process for itself in RAM, in bytes; false for one that has ended.
func resident(pid int) (int64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if size, found := strings.CutPrefix(line, "RssAnon:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(size), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
