package router

import (
	"errors"
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/routing"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

var update = flag.Bool("update", false, "write the golden files")

func sessions() []routing.Session {
	return []routing.Session{
		{
			Name: "p1", Port: "p1", Local: netip.MustParseAddr("198.18.1.2"), Remote: netip.MustParseAddr("198.18.1.1"), LocalASN: 65001, RemoteASN: 65000,
			RouterID: netip.MustParseAddr("198.18.1.2"), Families: []routing.Family{routing.IPv4Unicast}, HoldTime: 90 * time.Second,
			BFD: &routing.BFD{Interval: 150 * time.Millisecond, Multiplier: 3},
		},
		{
			Name: "p2", Port: "p2", Local: netip.MustParseAddr("2001:2:0:2::2"), Remote: netip.MustParseAddr("2001:2:0:2::1"), LocalASN: 4200000001, RemoteASN: 65000,
			RouterID: netip.MustParseAddr("198.18.2.2"), Families: []routing.Family{routing.IPv6Unicast}, HoldTime: 9 * time.Second, Password: "s3cret",
		},
	}
}

func config() Config {
	return Config{ASN: 65000, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: sessions()}
}

// labeled is a bed's device with LDP sessions, of which one has a password, and filters.
func labeled(kind string) Config {
	c := config()
	c.RouterID = netip.MustParseAddr("198.18.1.1")
	c.LDP, c.Accept = &LDP{Transport: c.RouterID}, []netip.Prefix{netip.MustParsePrefix("198.18.128.0/17"), netip.MustParsePrefix("2001:2::/48")}
	c.Sessions = nil
	for i, password := range []routing.Secret{"", "s3cret"} {
		port, subnet := []string{"p1", "p2"}[i], byte(i+1)
		local, remote := netip.AddrFrom4([4]byte{198, 18, subnet, 2}), netip.AddrFrom4([4]byte{198, 18, subnet, 1})
		c.Interfaces = append(c.Interfaces, Interface{Name: InterfaceName(kind, i, 10e9), Port: port, Addresses: []netip.Prefix{netip.PrefixFrom(remote, 24)}})
		c.Sessions = append(c.Sessions, routing.Session{
			Name: port, Protocol: routing.LDP, Port: port, Local: local, Remote: remote, RouterID: local,
			Families: []routing.Family{routing.IPv4LabeledUnicast}, HoldTime: 180 * time.Second, Password: password,
		})
	}
	return c
}

// whole is a bed's device with all that a kind can do: filters, VLANs, further paths, and
// labels where the kind has them.
func whole(kind string) Config {
	c := config()
	tags := frame.VLANs{{ID: 100}}
	if kinds[kind].doubleTags {
		tags = frame.VLANs{{ID: 2000}, {ID: 100}}
	}
	c.Interfaces = []Interface{
		{Name: InterfaceName(kind, 0, 10e9), Port: "p1", Addresses: []netip.Prefix{netip.MustParsePrefix("198.18.1.1/24"), netip.MustParsePrefix("198.18.1.3/24")}},
		{Name: InterfaceName(kind, 1, 10e9), Port: "p2", Addresses: []netip.Prefix{netip.MustParsePrefix("2001:2:0:2::1/64")}, VLANs: tags},
	}
	c.Accept = []netip.Prefix{netip.MustParsePrefix("198.18.128.0/17"), netip.MustParsePrefix("20.0.0.0/8"), netip.MustParsePrefix("2001:2::/48")}
	c.Sessions[1].AddPath, c.FIBFirst = true, true
	if len(kinds[kind].labeled) > 0 {
		third := c.Sessions[0]
		third.Name, third.Local, third.LocalASN, third.Families = "p1-2", netip.MustParseAddr("198.18.1.4"), 65000, kinds[kind].labeled
		c.Sessions = append(c.Sessions, third)
	}
	return c
}

// multicast is a bed's device that routes multicast, is the rendezvous point itself, and has
// no sessions.
func multicast(kind string) Config {
	c := whole(kind)
	c.Interfaces[1].Addresses = append(c.Interfaces[1].Addresses, netip.MustParsePrefix("198.18.2.1/24"))
	c.PIM = &PIM{RendezvousPoint: netip.MustParseAddr("198.18.1.1")}
	c.Sessions = nil
	return c
}

// routed is one that has sessions as well, and another router as rendezvous point.
func routed(kind string) Config {
	c := whole(kind)
	c.PIM = &PIM{RendezvousPoint: netip.MustParseAddr("198.18.9.9")}
	return c
}

func TestConfigurationsAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		configs := map[string]Config{kind: config(), kind + "-whole": whole(kind)}
		if kinds[kind].ldp {
			configs[kind+"-ldp"] = labeled(kind)
		}
		if !kinds[kind].noPIM {
			configs[kind+"-pim"], configs[kind+"-pim-bgp"] = multicast(kind), routed(kind)
		}
		for file, c := range configs {
			var got strings.Builder
			if err := Render(&got, kind, c); err != nil {
				t.Fatal(err)
			}
			file = filepath.Join("testdata", file+".conf")
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got.String(), want)
			}
			if strings.Contains(got.String(), "s3cret") || !strings.Contains(got.String(), "PASSWORD-OF-P2") && len(c.Sessions) > 0 {
				t.Errorf("%s: the password is printed, or its placeholder is not", file)
			}
		}
	}
}

// TestVtyshAcceptsWholeConfigurations has the shell of FRR read what zebra, bgpd and bfdd
// get, as Check has bgpd read its part alone.
func TestVtyshAcceptsWholeConfigurations(t *testing.T) {
	t.Parallel()
	var text, pim strings.Builder
	if err := errors.Join(Render(&text, FRR, whole(FRR)), Render(&pim, FRR, routed(FRR))); err != nil {
		t.Fatal(err)
	}
	for content, good := range map[string]bool{text.String(): true, text.String() + "neighbors\n": false, pim.String(): true, pim.String() + "ip pim rp none\n": false} {
		file := filepath.Join(t.TempDir(), "frr.conf")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "vtysh", "-C", "-f", file).CombinedOutput(); (err == nil) != good {
			t.Errorf("%v: %s", err, out)
		}
	}
}

func TestDaemonsAcceptTheirConfigurations(t *testing.T) {
	t.Parallel()
	for kind, wrong := range map[string]string{FRR: "router bgp 1\n neighbor 198.18.1.2 password s3cret none\n", BIRD: "protocol none;\n"} {
		c := whole(kind)
		c.Passwords = true
		if kind == FRR { // zebra and bfdd have the rest
			c.Interfaces, c.Sessions[0].BFD, c.Sessions[2].BFD = nil, nil, nil
			c.Sessions[1].Families = []routing.Family{routing.IPv6LabeledUnicast, routing.IPv4Unicast}
		}
		var text strings.Builder
		if err := Render(&text, kind, c); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "conf")
		for content, good := range map[string]bool{text.String(): true, wrong: false} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Check(t.Context(), kind, file); (err == nil) != good || err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

func TestRenderRefusesWhatADeviceCannot(t *testing.T) {
	t.Parallel()
	labeled := func(c *Config) {
		c.Sessions[0].Families = []routing.Family{routing.IPv4Unicast, routing.IPv4LabeledUnicast}
	}
	for name, test := range map[string]struct {
		kind   string
		change func(*Config)
		want   string
	}{
		"both families of FRR": {FRR, labeled, "session p1: families: FRR has either unicast or labeled unicast of an IP version on a session, and not both of IPv4; make two sessions of it"},
		"labels of BIRD":       {BIRD, labeled, "session p1: families: the configuration for BIRD has no labeled unicast"},
		"IPv6 labels of NX-OS": {NXOS, func(c *Config) { c.Sessions[1].Families = []routing.Family{routing.IPv6LabeledUnicast} }, "session p2: families: the configuration for NX-OS has no ipv6LabeledUnicast; it has ipv4LabeledUnicast"},
		"unknown kind":         {"other", func(*Config) {}, `no configuration for devices of the kind "other"; there are: bird, eos, frr, junos, nxos, srlinux`},
		"hold time":            {NXOS, func(c *Config) { c.Sessions[0].HoldTime = 2 * time.Hour }, "session p1: holdTime: 2h0m0s; NX-OS takes at most 1h0m0s"},
		"BFD interval":         {EOS, func(c *Config) { c.Sessions[0].BFD.Interval = 10 * time.Millisecond }, "session p1: bfd.interval: 10ms; EOS takes 50ms to 1m0s"},
		"BFD multiplier":       {SRLinux, func(c *Config) { c.Sessions[0].BFD.Multiplier = 2 }, "session p1: bfd.multiplier: 2; SR Linux takes 3 to 20"},
		"two tags":             {SRLinux, func(c *Config) { c.Interfaces[1].VLANs = frame.VLANs{{ID: 1}, {ID: 2}} }, "interface of port p2: vlan.service: the configuration for SR Linux has interfaces with one tag at most"},
		"name of an interface": {EOS, func(c *Config) { c.Interfaces[0].Name = "Ethernet 1" }, `interface of port p1: "Ethernet 1" is no name of an interface: give one without spaces, such as Ethernet1`},
		"multicast of BIRD":    {BIRD, func(c *Config) { c.PIM = &PIM{} }, "pim: BIRD does not route multicast; these do: eos, frr, junos, nxos, srlinux"},
		"name too long":        {FRR, func(c *Config) { c.Interfaces[1].Name = "interface-12" }, "interface of port p2: interface-12.2000.100 has 21 characters; interfaces of Linux have at most 15"},
	} {
		c := whole(test.kind)
		test.change(&c)
		if err := Render(&strings.Builder{}, test.kind, c); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func TestConfigurationOfABed(t *testing.T) {
	t.Parallel()
	bed := objects.TestBed("bed",
		objects.Ports(
			v1alpha1.Port{Name: "p1", Speed: "10G", Addresses: []string{"198.18.1.2/24"}, Gateways: []string{"198.18.1.1"}, VLAN: &v1alpha1.VLANTag{ID: 7}},
			objects.Port("p2", "198.18.2.2/24", "198.18.2.1"),
		),
		objects.Sessions(65000,
			v1alpha1.BGPSession{Name: "p1", Port: "p1", ASN: 65001, DeviceAddress: "198.18.1.9", PasswordSecretRef: &v1alpha1.SecretKeyReference{Name: "bgp", Key: "p1"}},
			v1alpha1.BGPSession{Name: "p2", Port: "p2", ASN: 65002, Count: 2},
		),
	)
	c, errs := ForBed(bed, Junos, map[string]string{"p2": "ge-1/0/3"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got strings.Builder
	if err := Render(&got, Junos, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"set interfaces xe-0/0/0 unit 7 vlan-id 7\n",
		"set interfaces xe-0/0/0 unit 7 family inet address 198.18.1.1/24\nset interfaces xe-0/0/0 unit 7 family inet address 198.18.1.9/24\n",
		"set interfaces ge-1/0/3 unit 0 family inet address 198.18.2.1/24\n",
		"set routing-options router-id 198.18.1.1\n",
		"set policy-options policy-statement TESTER then accept\n",
		`set protocols bgp group p1 authentication-key "PASSWORD-OF-P1"`,
		"set protocols bgp group p2-2 neighbor 198.18.2.3 peer-as 65003",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is missing in\n%s", want, got.String())
		}
	}
	bed.Spec.Routing = nil
	if _, errs := ForBed(bed, Junos, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), "test bed bed has neither sessions nor multicast routing, which the configuration is about: add bgp, ldp or pim") {
		t.Error(errs)
	}
}
