//go:build linux

package probe

import (
	"errors"

	"golang.org/x/sys/unix"
)

// PacketSockets reports whether the kernel has packet sockets. A kernel refuses one for
// lack of rights only if it has them.
func PacketSockets() bool {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
		return true
	}
	return errors.Is(err, unix.EPERM)
}
