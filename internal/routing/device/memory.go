package device

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory returns the number of bytes that the processes have in RAM for themselves (RssAnon of
// proc_pid_status(5)), and whether it is known. It is not known if one of them has ended. It
// does not include what the kernel uses for their routes.
func (d *Daemons) Memory() (bytes int64, known bool) {
	for _, c := range d.commands {
		n, ok := resident(c.Process.Pid)
		if !ok {
			return 0, false
		}
		bytes += n
	}
	return bytes, len(d.commands) > 0
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
