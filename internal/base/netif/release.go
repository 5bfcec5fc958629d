package netif

import "golang.org/x/sys/unix"

// KernelRelease returns the release of the running kernel, such as 6.12.95-amd64.
func KernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "of unknown release"
	}
	return unix.ByteSliceToString(u.Release[:])
}
