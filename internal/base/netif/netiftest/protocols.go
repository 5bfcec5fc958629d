package netiftest

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OnlyNetlink refuses every netlink protocol but the given ones to the calling thread and
// to the programs that it starts, as a kernel does whose modules are not loaded. It cannot
// be undone: the thread must be locked, and must end with the test.
func OnlyNetlink(protocols ...int) error {
	const allow, refuse = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
	argument := func(n uint32) uint32 { return 16 + 8*n } // of struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	end := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	is := func(value uint32, then, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: then, Jf: otherwise, K: value}
	}
	filter := []unix.SockFilter{
		load(0), is(unix.SYS_SOCKET, 1, 0), end(allow),
		load(argument(0)), is(unix.AF_NETLINK, 1, 0), end(allow),
		load(argument(2)),
	}
	for _, protocol := range slices.Compact(slices.Sorted(slices.Values(protocols))) {
		filter = append(filter, is(uint32(protocol), 0, 1), end(allow))
	}
	filter = append(filter, end(refuse))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("filtering system calls: %w", err)
	}
	return nil
}
