package bgp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/routing"
)

// connectTime is the time that the device may take to accept a connection: three SYN.
const connectTime = 7 * time.Second

// Port is the local end of the sessions of a port.
type Port struct {
	// Namespace of the port; 0 or a closed one means that of this process.
	Namespace netns.NsHandle
	// Interface gets the addresses of sessions that it lacks; empty for none.
	Interface string
}

// in runs f in the namespace of the port.
func (p Port) in(f func() error) error {
	ns := p.Namespace
	if ns == 0 { // standard input, and no namespace
		ns = netns.None()
	}
	return netif.In(ns, f)
}

// connect opens the connection of a session: by TCP with time to live 1 (RFC 4271 leaves
// it open; sessions are with neighbors), and MD5 (RFC 2385) with a password.
func (p Port) connect(ctx context.Context, s *routing.Session, tcpPort uint16) (net.Conn, *cause) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	to := netip.AddrPortFrom(s.Remote, tcpPort)
	dialer := net.Dialer{
		LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(s.Local, 0)),
		KeepAlive: -1, // BGP has its own
		Control: func(_, _ string, c syscall.RawConn) error {
			var err error
			if e := c.Control(func(fd uintptr) { err = options(int(fd), s) }); e != nil {
				return e
			}
			return err
		},
	}
	var conn net.Conn
	err := p.in(func() (err error) {
		conn, err = dialer.DialContext(ctx, "tcp", to.String())
		return err
	})
	var timeout net.Error
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, because("the device refuses connections to %v: it has no BGP there", to)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, because("the port %s does not have the address %v", s.Port, s.Local)
	case errors.Is(err, context.Canceled):
		return nil, because("it was closed")
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		hint := "this session has no TCP MD5 password"
		if s.Password != "" {
			hint = "this session has one"
		}
		return nil, because("no answer to connections to %v: the device does not answer at all, or drops them, as it does when TCP MD5 passwords differ (%s)", to, hint)
	}
	return nil, because("connecting: %v", err)
}

func options(fd int, s *routing.Session) error {
	level, option := unix.IPPROTO_IP, unix.IP_TTL
	if s.Remote.Is6() {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS
	}
	if err := unix.SetsockoptInt(fd, level, option, 1); err != nil {
		return fmt.Errorf("setting the time to live: %w", err)
	}
	if s.Password == "" {
		return nil
	}
	if len(s.Password) > unix.TCP_MD5SIG_MAXKEYLEN {
		return fmt.Errorf("the TCP MD5 password has %d bytes, %d are allowed", len(s.Password), unix.TCP_MD5SIG_MAXKEYLEN)
	}
	md5 := unix.TCPMD5Sig{Keylen: uint16(len(s.Password))}
	copy(md5.Key[:], s.Password)
	if s.Remote.Is4() {
		md5.Addr.Family = unix.AF_INET
		a := s.Remote.As4()
		copy(md5.Addr.Data[2:], a[:]) // after the port
	} else {
		md5.Addr.Family = unix.AF_INET6
		a := s.Remote.As16()
		copy(md5.Addr.Data[6:], a[:]) // after port and flow
	}
	if err := unix.SetsockoptTCPMD5Sig(fd, unix.IPPROTO_TCP, unix.TCP_MD5SIG, &md5); err != nil {
		return fmt.Errorf("setting the TCP MD5 password: %w", err)
	}
	return nil
}

// readings is the number of times the addresses of an interface are read while they change.
const readings = 100

// addresses returns the addresses of an interface. The kernel reports if they changed while it
// listed them, as they do while hundreds of sessions get theirs; they are then read again.
func addresses(link netlink.Link) (all []netlink.Addr, err error) {
	for range readings {
		all, err = netlink.AddrList(link, netlink.FAMILY_ALL)
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return all, err
}

// address gives the port an address that it lacks, and returns a function that removes it
// again.
func (p Port) address(a netip.Addr) (undo func() error, err error) {
	if p.Interface == "" {
		return nil, nil
	}
	mask := net.CIDRMask(a.BitLen(), a.BitLen())
	one := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: mask}, Flags: unix.IFA_F_NODAD}
	change := func(do func(netlink.Link) error) error {
		return p.in(func() error {
			link, err := netlink.LinkByName(p.Interface)
			if err != nil {
				return err
			}
			return do(link)
		})
	}
	added := false
	err = change(func(link netlink.Link) error {
		all, err := addresses(link)
		if err != nil {
			return err
		}
		for _, has := range all {
			if has.IP.Equal(one.IP) {
				return nil
			}
		}
		added = true
		return netlink.AddrAdd(link, one)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("adding the address %v to the interface %s: %w", a, p.Interface, err)
	case !added:
		return nil, nil
	}
	return func() error {
		err := change(func(link netlink.Link) error { return netlink.AddrDel(link, one) })
		if err != nil {
			return fmt.Errorf("removing the address %v from the interface %s: %w", a, p.Interface, err)
		}
		return nil
	}, nil
}
