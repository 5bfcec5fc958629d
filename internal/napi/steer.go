package napi

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Steer lets a processor take in what an interface of the calling thread's network
// namespace receives in its first queue (receive packet steering). The processor that
// polls the interface, of a veth that of the sender, only makes packets of the frames; the
// soft interrupts of the other one route or bridge them, and transmit them. Between the
// two is a queue of net.core.netdev_max_backlog packets. The kernel counts those that
// find it full in the interface's rx_dropped. It ends with the interface.
//
// It needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
func Steer(iface string, processor int) error {
	if err := writeSysfs("class/net/"+iface+"/queues/rx-0/rps_cpus", mask(processor)); err != nil {
		return fmt.Errorf("steering what %s receives to processor %d: %w", iface, processor, err)
	}
	return nil
}

// mask is a set of one processor as the kernel reads it: hexadecimal words of 32 bits,
// the highest first.
func mask(processor int) string {
	return fmt.Sprintf("%x", uint32(1)<<(processor%32)) + strings.Repeat(",00000000", processor/32)
}

// writeSysfs writes a file of sysfs. A mount of sysfs shows the interfaces of the network
// namespace that it was made in: this one is seen by no other process and ends here.
func writeSysfs(path, value string) error {
	filesystem, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening sysfs: %w", err)
	}
	defer unix.Close(filesystem)
	if err := unix.FsconfigCreate(filesystem); err != nil {
		return fmt.Errorf("opening sysfs: %w", err)
	}
	root, err := unix.Fsmount(filesystem, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("mounting sysfs: %w", err)
	}
	defer unix.Close(root)
	file, err := unix.Openat(root, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	defer unix.Close(file)
	if _, err := unix.Write(file, []byte(value)); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
