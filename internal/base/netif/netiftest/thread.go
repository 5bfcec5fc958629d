package netiftest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif/sysfs"
)

// ErrUnseen is wrapped by Thread when the threads poll, but this process cannot bind
// them, because they are not in its PID namespace.
var ErrUnseen = errors.New("the kernel's threads cannot be seen from this PID namespace")

// Thread lets a kernel thread poll an interface of the calling thread's network
// namespace (threaded NAPI), one per receive queue, and binds the threads to a processor.
// Such an interface holds frames when its sender has ended, as a network card does. The interface
// is up and polls already: a veth does where it has an XDP program or GRO is on. A veth
// that goes down and up again has new threads, which are not bound.
//
// It needs CAP_SYS_ADMIN, CAP_SYS_NICE and Linux 6.8. It fails with ErrUnseen where the
// threads poll, on whichever processor the kernel chooses, and with another error where
// nothing has changed.
func Thread(iface string, processor int) error {
	instances, err := instancesOf(iface)
	if err != nil {
		return fmt.Errorf("asking for the polling of %s: %w", iface, err)
	}
	if len(instances) == 0 {
		return fmt.Errorf("interface %s does not poll: turn GRO on, and bring it up", iface)
	}
	if err := sysfs.Write("class/net/"+iface+"/threaded", "1"); err != nil {
		return fmt.Errorf("polling %s in a thread: %w", iface, err)
	}
	if instances, err = instancesOf(iface); err != nil {
		return fmt.Errorf("asking for the threads of %s: %w", iface, err)
	}
	var set unix.CPUSet
	set.Set(processor)
	for _, i := range instances {
		if err := i.check(iface); err != nil {
			return err
		}
		if err := unix.SchedSetaffinity(int(i.thread), &set); err != nil {
			return fmt.Errorf("binding the thread that polls %s to processor %d: %w", iface, processor, err)
		}
	}
	return nil
}

// check verifies that the thread's number names the same thread here. The kernel returns the
// number in the first PID namespace, and another thread may have it in this one.
func (i instance) check(iface string) error {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", i.thread))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for the thread that polls %s: %w", iface, err)
	}
	if i.thread == 0 || strings.TrimSpace(string(name)) != fmt.Sprintf("napi/%s-%d", iface, i.id) {
		return fmt.Errorf("binding the thread that polls %s: %w", iface, ErrUnseen)
	}
	return nil
}
