package card

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Spread is the indirection table of receive side scaling (RSS): the receive queue of each
// hash value.
type Spread []uint32

// maxSpread is the longest table that is read; drivers have up to 4096 entries.
const maxSpread = 1 << 16

// even is the table that the kernel makes for a number of queues.
func even(entries int, queues uint32) Spread {
	s := make(Spread, entries)
	for i := range s {
		s[i] = uint32(i) % queues
	}
	return s
}

// single is a table with one queue.
func single(entries int, queue uint32) Spread {
	s := make(Spread, entries)
	for i := range s {
		s[i] = queue
	}
	return s
}

// Queue returns the only queue of the table, and whether there is only one.
func (s Spread) Queue() (uint32, bool) {
	if len(s) == 0 || slices.ContainsFunc(s, func(q uint32) bool { return q != s[0] }) {
		return 0, false
	}
	return s[0], true
}

// write is the table in short: even:128:2 for 128 entries over two queues in turn, or runs
// such as 0*64,1*64.
func (s Spread) write() string {
	if top := slices.Max(s); top > 0 && slices.Equal(s, even(len(s), top+1)) {
		return fmt.Sprintf("even:%d:%d", len(s), top+1)
	}
	var runs []string
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		runs = append(runs, fmt.Sprintf("%d*%d", s[i], n))
		i += n
	}
	return strings.Join(runs, ",")
}

// parseSpread reads what write has written.
func parseSpread(text string) (Spread, error) {
	bad := fmt.Errorf("%q is no table of receive queues", text)
	if of, found := strings.CutPrefix(text, "even:"); found {
		entries, queues, _ := strings.Cut(of, ":")
		n, err := strconv.ParseUint(entries, 10, 16)
		q, err2 := strconv.ParseUint(queues, 10, 16)
		if err != nil || err2 != nil || q == 0 {
			return nil, bad
		}
		return even(int(n), uint32(q)), nil
	}
	var s Spread
	for _, run := range strings.Split(text, ",") {
		queue, times, _ := strings.Cut(run, "*")
		q, err := strconv.ParseUint(queue, 10, 16)
		n, err2 := strconv.ParseUint(times, 10, 16)
		if err != nil || err2 != nil || len(s)+int(n) > maxSpread {
			return nil, bad
		}
		s = append(s, single(int(n), uint32(q))...)
	}
	return s, nil
}

// The library for ethtool has the table with 256 entries at most, and sets only tables of
// its own making, so that one cannot be restored with it.

// readSpread reads the table; nil where the driver has none.
func readSpread(name string) (Spread, error) {
	head := []uint32{unix.ETHTOOL_GRXFHINDIR, 0}
	if err := ethtoolCall(name, unsafe.Pointer(&head[0])); err != nil {
		return nil, unlessUnknown(err)
	}
	n := head[1]
	if n == 0 || n > maxSpread {
		return nil, nil
	}
	table := make([]uint32, 2+n)
	table[0], table[1] = unix.ETHTOOL_GRXFHINDIR, n
	if err := ethtoolCall(name, unsafe.Pointer(&table[0])); err != nil {
		return nil, unlessUnknown(err)
	}
	return Spread(table[2:]), nil
}

// setSpread sets the table. The kernel's own one is set by its name, so that it follows the
// number of queues again.
func setSpread(name string, s Spread) error {
	queues, err := receiveQueues(name)
	if err != nil {
		return err
	}
	table := append([]uint32{unix.ETHTOOL_SRXFHINDIR, uint32(len(s))}, s...)
	if slices.Equal(s, even(len(s), queues)) {
		table[1] = 0
	}
	return ethtoolCall(name, unsafe.Pointer(&table[0]))
}

// receiveQueues is the number of receive queues; 1 where the driver does not say.
func receiveQueues(name string) (uint32, error) {
	// struct ethtool_rxnfc with its data, which has the number, behind the flow type.
	var request struct {
		command, flowType uint32
		data              uint64
		rest              [176]byte
	}
	request.command = unix.ETHTOOL_GRXRINGS
	if err := ethtoolCall(name, unsafe.Pointer(&request)); err != nil {
		return 1, unlessUnknown(err)
	}
	return uint32(max(1, request.data)), nil
}

// ethtoolCall is the ioctl SIOCETHTOOL with a command's structure.
func ethtoolCall(name string, data unsafe.Pointer) error {
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		rest [16]byte
	}
	if len(name) >= len(request.name) {
		return unix.ENODEV
	}
	copy(request.name[:], name)
	request.data = data
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(data)
	if errno != 0 {
		return errno
	}
	return nil
}

// unlessUnknown drops the error that the driver does not have a setting.
func unlessUnknown(err error) error {
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
