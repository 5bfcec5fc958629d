package endpoint

import (
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/routing"
)

// Control returns a function for net.Dialer and net.ListenConfig that calls set with the socket.
func Control(set func(fd int) error) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = set(int(fd)) }); e != nil {
			return e
		}
		return err
	}
}

// Bind binds a socket to the interface of the port, if that is known.
func (p Port) Bind(fd int) error {
	if p.Interface == "" {
		return nil
	}
	if err := unix.BindToDevice(fd, p.Interface); err != nil {
		return fmt.Errorf("binding a socket to the interface %s: %w", p.Interface, err)
	}
	return nil
}

// SetTTL sets the time to live of the packets of a socket to a neighbor.
func SetTTL(fd int, remote netip.Addr, ttl int) error {
	level, option := unix.IPPROTO_IP, unix.IP_TTL
	if remote.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	}
	if err := unix.SetsockoptInt(fd, level, option, ttl); err != nil {
		return fmt.Errorf("setting the time to live: %w", err)
	}
	return nil
}

// SetPassword makes a socket sign and check its segments with a neighbor by TCP MD5 (RFC 2385).
// It does nothing without a password.
func SetPassword(fd int, remote netip.Addr, password routing.Secret) error {
	if password == "" {
		return nil
	}
	if len(password) > unix.TCP_MD5SIG_MAXKEYLEN {
		return fmt.Errorf("the TCP MD5 password has %d bytes, %d are allowed", len(password), unix.TCP_MD5SIG_MAXKEYLEN)
	}
	md5 := unix.TCPMD5Sig{Keylen: uint16(len(password))}
	copy(md5.Key[:], password)
	if remote.Is4() {
		md5.Addr.Family = unix.AF_INET
		a := remote.As4()
		copy(md5.Addr.Data[2:], a[:]) // after the port
	} else {
		md5.Addr.Family = unix.AF_INET6
		a := remote.As16()
		copy(md5.Addr.Data[6:], a[:]) // after port and flow
	}
	if err := unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &md5); err != nil {
		return fmt.Errorf("setting the TCP MD5 password: %w", err)
	}
	return nil
}
