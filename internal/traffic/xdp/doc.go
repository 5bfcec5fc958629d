// Package xdp sends and receives test frames inside the Linux kernel. It
// implements traffic.Generator for network interfaces of this machine, and needs
// neither huge pages nor a special driver.
//
// Frames are written by a BPF program that runs under BPF_PROG_RUN with live
// frames and redirects each frame to the port; a second program on the port's
// XDP hook counts the test frames that arrive and passes all others to the
// kernel, so that ARP, neighbor discovery and routing daemons keep working.
// Where a device does not take XDP frames, the same frames are sent through a
// packet socket. Every frame carries a signature (frame.Signature), so that
// loss, duplicates, order (RFC 4737) and latency are known frame by frame.
//
// It needs Linux 6.1 with BTF and the capabilities NET_ADMIN, NET_RAW, BPF and
// PERFMON.
package xdp

//go:generate go tool bpf2go -target bpfel -go-package xdp -output-stem testdut -output-suffix _test -type faults dut bpf/testdut.c -- -O2 -g -mcpu=v3 -Wall -Werror
