package bgp

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"

	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/routing/endpoint"
)

// fakeDevice is one side of a connection of which a test decides each byte.
type fakeDevice struct {
	t        *testing.T
	listener net.Listener
	conn     net.Conn
	options  *bgp.MarshallingOption
}

func newFakeDevice(t *testing.T, password routing.Secret) *fakeDevice {
	t.Helper()
	s := tester(0)
	s.Remote, s.Password = s.Local, password // of the tester, whose connections are signed
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = endpoint.SetPassword(int(fd), s.Remote, s.Password) })
		return err
	}}
	l, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &fakeDevice{t: t, listener: l, options: &bgp.MarshallingOption{AddPath: map[bgp.Family]bgp.BGPAddPathMode{bgp.RF_IPv4_UC: 0, bgp.RF_IPv6_UC: 0}}}
}

func (d *fakeDevice) port() uint16 { return uint16(d.listener.Addr().(*net.TCPAddr).Port) }

// opening is the OPEN message of a device as the sessions of tests want it.
func opening(change func(*routing.Session)) *bgp.BGPMessage {
	s := tester(1)
	s.LocalASN = 65000
	if change != nil {
		change(&s)
	}
	m, err := openMessage(&s)
	if err != nil {
		panic(err)
	}
	return m
}

// accept takes the connection and reads the tester's OPEN.
func (d *fakeDevice) accept() {
	d.t.Helper()
	conn, err := d.listener.Accept()
	if err != nil {
		d.t.Error(err)
		return
	}
	d.t.Cleanup(func() { conn.Close() })
	d.conn = conn
	d.read(bgp.BGP_MSG_OPEN)
}

// establish answers with OPEN and KEEPALIVE.
func (d *fakeDevice) establish() {
	d.t.Helper()
	d.accept()
	d.write(opening(nil))
	d.read(bgp.BGP_MSG_KEEPALIVE)
	d.write(bgp.NewBGPKeepAliveMessage())
}

func (d *fakeDevice) write(m *bgp.BGPMessage) { d.bytes(serialize(m)) }

func (d *fakeDevice) bytes(b []byte) {
	d.t.Helper()
	if _, err := d.conn.Write(b); err != nil {
		d.t.Error(err)
	}
}

// read reads messages until one of a type comes.
func (d *fakeDevice) read(kind uint8) *bgp.BGPMessage {
	d.t.Helper()
	_ = d.conn.SetReadDeadline(time.Now().Add(patience))
	buffer := make([]byte, maxLength)
	for {
		m, err := read(d.conn, buffer, d.options)
		if err != nil {
			d.t.Errorf("awaiting a message of type %d: %v", kind, err)
			return nil
		}
		if m.Header.Type == kind {
			return m
		}
	}
}

func update(routes string, count uint32, path ...uint32) *bgp.BGPMessage {
	r := set(routes, count)
	var all []bgp.PathNLRI
	for i := range count {
		n, _ := bgp.NewIPAddrPrefix(r.Prefix(i))
		all = append(all, bgp.PathNLRI{NLRI: n})
	}
	hop, _ := bgp.NewPathAttributeNextHop(r.Attributes.NextHop)
	return bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{bgp.NewPathAttributeOrigin(0),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, path)}), hop}, all)
}

func TestBadDevicesAreNamed(t *testing.T) {
	t.Parallel()
	header := func(b ...byte) []byte { return append([]byte(strings.Repeat("\xff", 16)), b...) }
	for name, c := range map[string]struct {
		session func(*routing.Session)
		do      func(*fakeDevice)
		want    string
		// sent is the NOTIFICATION that the device must get; 0 for none.
		code, subcode uint8
		final         bool
	}{
		"closes": {
			do:   func(d *fakeDevice) { d.establish(); d.conn.Close() },
			want: "the device closed the connection without a NOTIFICATION",
		},
		"resets": {
			do: func(d *fakeDevice) {
				d.establish()
				d.write(bgp.NewBGPNotificationMessage(6, 4, []byte("\x05ab\x01cdef")))
			},
			want: "the device sent NOTIFICATION Cease (6), Administrative Reset (4): ab?cd",
		},
		"refuses the AS number": {
			do:    func(d *fakeDevice) { d.accept(); d.write(bgp.NewBGPNotificationMessage(2, 2, []byte{0xfd, 0xe9})) },
			want:  "the device sent NOTIFICATION OPEN Message Error (2), Bad Peer AS (2): it expects another AS number of the tester",
			final: true,
		},
		"unknown codes": {
			do:   func(d *fakeDevice) { d.establish(); d.write(bgp.NewBGPNotificationMessage(99, 7, nil)) },
			want: "the device sent NOTIFICATION code 99, subcode 7",
		},
		"another AS number": {
			do: func(d *fakeDevice) {
				d.accept()
				d.write(opening(func(s *routing.Session) { s.LocalASN = 4200000000 }))
			},
			want: "the device is in AS 4200000000, the bed says 65000; the tester sent NOTIFICATION OPEN Message Error (2), Bad Peer AS (2)",
			code: 2, subcode: 2, final: true,
		},
		"lacks a family": {
			do: func(d *fakeDevice) {
				d.accept()
				d.write(opening(func(s *routing.Session) { s.Families = s.Families[:1] }))
			},
			want: "the device does not offer the family ipv6Unicast; activate it for the neighbor 127.0.0.10; the tester sent NOTIFICATION OPEN Message Error (2), Unsupported Capability (7)",
			code: 2, subcode: 7, final: true,
		},
		"lacks several paths": {
			session: func(s *routing.Session) { s.AddPath = true },
			do:      func(d *fakeDevice) { d.accept(); d.write(opening(nil)) },
			want:    "the device does not receive several paths of a prefix in the family ipv4Unicast (RFC 7911); the tester sent NOTIFICATION OPEN Message Error (2), Unsupported Capability (7)",
			code:    2, subcode: 7, final: true,
		},
		"hold time of a second": {
			do: func(d *fakeDevice) {
				d.accept()
				d.write(opening(func(s *routing.Session) { s.HoldTime = time.Second }))
			},
			want: "the device sent a malformed OPEN: unacceptable hold time 1; the tester sent NOTIFICATION OPEN Message Error (2), Unacceptable Hold Time (6)",
			code: 2, subcode: 6, final: true,
		},
		"falls silent": {
			session: func(s *routing.Session) { s.HoldTime = 3 * time.Second },
			do:      (*fakeDevice).establish,
			want:    "nothing came from the device for 3s, the hold time; the tester sent NOTIFICATION Hold Timer Expired (4)",
			code:    4,
		},
		"opens twice": {
			do:   func(d *fakeDevice) { d.establish(); d.write(opening(nil)) },
			want: "the device sent an OPEN in an established session; the tester sent NOTIFICATION Finite State Machine Error (5), Unexpected Message in Established State (3)",
			code: 5, subcode: 3,
		},
		"begins with KEEPALIVE": {
			do:   func(d *fakeDevice) { d.accept(); d.write(bgp.NewBGPKeepAliveMessage()) },
			want: "the device sent KEEPALIVE in place of OPEN; the tester sent NOTIFICATION Finite State Machine Error (5), Unexpected Message in OpenSent State (1)",
			code: 5, subcode: 1,
		},
		"no marker": {
			do:   func(d *fakeDevice) { d.establish(); d.bytes(make([]byte, 19)) },
			want: "the device sent a malformed message header: marker is not all ones; the tester sent NOTIFICATION Message Header Error (1), Connection Not Synchronized (1)",
			code: 1, subcode: 1,
		},
		"too long": {
			do:   func(d *fakeDevice) { d.establish(); d.bytes(header(0x10, 0x01, 2)) },
			want: "the device sent a UPDATE of 4097 bytes; the tester sent NOTIFICATION Message Header Error (1), Bad Message Length (2)",
			code: 1, subcode: 2,
		},
		"unknown type": {
			do:   func(d *fakeDevice) { d.establish(); d.bytes(header(0, 19, 77)) },
			want: "the device sent a message of type 77; the tester sent NOTIFICATION Message Header Error (1), Bad Message Type (3)",
			code: 1, subcode: 3,
		},
		"prefix of 33 bits": {
			do:   func(d *fakeDevice) { d.establish(); d.bytes(header(0, 29, 2, 0, 6, 33, 1, 2, 3, 4, 5, 0, 0)) },
			want: "the device sent a malformed UPDATE: network bit length is too long; the tester sent NOTIFICATION UPDATE Message Error (3), Invalid Network Field (10)",
			code: 3, subcode: 10,
		},
		"too many routes": {
			do:   func(d *fakeDevice) { d.establish(); d.write(update("198.18.0.0/24", 101, 65000)) },
			want: "the device advertises more than 100 routes, the most that the tester takes; the tester sent NOTIFICATION Cease (6), Maximum Number of Prefixes Reached (1)",
			code: 6, subcode: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFakeDevice(t, "")
			s := New(Options{Ports: map[string]Port{"p": {}}, TCPPort: d.port(), Retry: time.Hour, MaxRoutes: 100})
			t.Cleanup(func() { s.Close() })
			a := tester(0)
			if c.session != nil {
				c.session(&a)
			}
			played := make(chan struct{})
			go func() {
				defer close(played)
				c.do(d)
				if c.code != 0 && d.conn != nil {
					if m := d.read(bgp.BGP_MSG_NOTIFICATION); m != nil {
						if n := m.Body.(*bgp.BGPNotification); n.ErrorCode != c.code || n.ErrorSubcode != c.subcode {
							t.Errorf("the device got NOTIFICATION %s", words(n.ErrorCode, n.ErrorSubcode))
						}
					}
				}
			}()
			ctx, cancel := context.WithCancel(within(t))
			result := make(chan error, 1)
			go func() { result <- s.Open(ctx, []routing.Session{a}) }()
			state := awaitState(t, s, "a", func(s routing.State) bool { return s.Cause != "" })
			if state.Cause != c.want {
				t.Errorf("cause\n%s\nwant\n%s", state.Cause, c.want)
			}
			if !c.final {
				cancel()
			}
			err := <-result
			cancel()
			var down *routing.DownError
			if c.final && (!errors.As(err, &down) || down.Cause != c.want || !down.Final) {
				t.Errorf("opening: got %v, want %s", err, c.want)
			}
			<-played
		})
	}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	t.Run("same", func(t *testing.T) {
		t.Parallel()
		d := newFakeDevice(t, "secret")
		s, a := newSpeaker(t, d.port()), tester(0)
		a.Password = "secret"
		go d.establish()
		if err := s.Open(within(t), []routing.Session{a}); err != nil {
			t.Error(err)
		}
	})
	t.Run("differ", func(t *testing.T) {
		t.Parallel()
		d := newFakeDevice(t, "secret")
		s, a := newSpeaker(t, d.port()), tester(0)
		a.Password = "other"
		ctx, cancel := context.WithTimeout(t.Context(), endpoint.ConnectTime+2*time.Second)
		defer cancel()
		err := s.Open(ctx, []routing.Session{a})
		want := "drops them, as it does when TCP MD5 passwords differ (this session has one)"
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "other") {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestNoDevice(t *testing.T) {
	t.Parallel()
	s := newSpeaker(t, freePort(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := s.Open(ctx, []routing.Session{tester(0)})
	if want := "the device refuses connections to 127.0.0.1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := s.Announce(t.Context(), "a", []routing.Routes{set("198.18.0.0/24", 1)}); !errors.As(err, new(*routing.DownError)) {
		t.Errorf("announcing: %v", err)
	}
}

func TestLeakedRoutesAreCountedAndNotLearnt(t *testing.T) {
	t.Parallel()
	d := newFakeDevice(t, "")
	s := newSpeaker(t, d.port())
	go func() {
		d.establish()
		d.write(update("198.18.0.0/24", 100, 65000, 64512))
		d.write(update("198.18.50.0/24", 200, 65000, 65001, 64512)) // half of them replace what was learnt
	}()
	if err := s.Open(within(t), []routing.Session{tester(0)}); err != nil {
		t.Fatal(err)
	}
	first := set("198.18.0.0/24", 50)
	first.Attributes.ASPath, first.Attributes.Communities = nil, nil
	learnt := awaitTable(t, s, "a", routing.Readvertised(65000, 64512, []routing.Routes{first}))
	if learnt.Looped != 200 || learnt.Updates != 100 {
		t.Errorf("%+v", learnt)
	}
}

func TestDeviceAsksForRoutesAgain(t *testing.T) {
	t.Parallel()
	d := newFakeDevice(t, "")
	s := newSpeaker(t, d.port())
	go d.establish()
	if err := s.Open(within(t), []routing.Session{tester(0)}); err != nil {
		t.Fatal(err)
	}
	four, six, hole := set("198.18.0.0/24", 2000), set("2001:2::/48", 10), set("198.18.0.0/24", 50)
	announce(t, s, "a", four, six)
	withdraw(t, s, "a", hole)
	count := func(m *bgp.BGPMessage) int { return len(m.Body.(*bgp.BGPUpdate).NLRI) }
	for range 2 {
		for n := 0; n < 2000; {
			n += count(d.read(bgp.BGP_MSG_UPDATE))
		}
		d.read(bgp.BGP_MSG_UPDATE) // IPv6, then the withdrawal
		d.read(bgp.BGP_MSG_UPDATE)
		d.write(bgp.NewBGPRouteRefreshMessage(bgp.AFI_IP, 0, bgp.SAFI_UNICAST))
		for n := 0; n < 1950; {
			got := count(d.read(bgp.BGP_MSG_UPDATE))
			if n += got; got == 0 || n > 1950 {
				t.Fatalf("%d routes came again", n)
			}
		}
		announce(t, s, "a", four, six)
		withdraw(t, s, "a", hole)
	}
}

func TestAnnouncementToADeviceThatDoesNotRead(t *testing.T) {
	t.Parallel()
	d := newFakeDevice(t, "")
	s := newSpeaker(t, d.port())
	go d.establish()
	if err := s.Open(within(t), []routing.Session{tester(0)}); err != nil {
		t.Fatal(err)
	}
	many := set("16.0.0.0/24", 4_000_000)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	sent, err := s.Announce(ctx, "a", []routing.Routes{many})
	if !errors.Is(err, context.DeadlineExceeded) || sent.Routes == 0 || sent.Routes >= 4_000_000 {
		t.Fatalf("sent %+v: %v", sent, err)
	}
	// Messages are whole: the device reads on, and gets what is announced next.
	last := set("198.18.0.0/32", 1)
	go func() {
		if _, err := s.Announce(within(t), "a", []routing.Routes{last}); err != nil {
			t.Error(err)
		}
	}()
	for n := 0; ; n++ {
		m := d.read(bgp.BGP_MSG_UPDATE)
		if m == nil {
			return
		}
		if u := m.Body.(*bgp.BGPUpdate); len(u.NLRI) == 1 && u.NLRI[0].NLRI.String() == "198.18.0.0/32" {
			if uint64(n) < sent.Messages {
				t.Errorf("%d messages came before it, %d were sent", n, sent.Messages)
			}
			return
		}
	}
}
