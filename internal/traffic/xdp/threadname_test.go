package xdp

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif/sysfs"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

// threadByName is netiftest.Thread for kernels that do not tell the threads of an
// interface: it finds them by their names.
func threadByName(iface string, processor int) error {
	if err := sysfs.Write("class/net/"+iface+"/threaded", "1"); err != nil {
		return fmt.Errorf("polling %s in a thread: %w", iface, err)
	}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return err
	}
	var set unix.CPUSet
	set.Set(processor)
	bound := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), machine.Receives+iface+"-") {
			continue // a thread may have ended
		}
		thread, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(thread, &set); err != nil {
			return fmt.Errorf("binding the thread that polls %s to processor %d: %w", iface, processor, err)
		}
		bound++
	}
	if bound == 0 {
		return fmt.Errorf("no thread polls %s", iface)
	}
	return nil
}
