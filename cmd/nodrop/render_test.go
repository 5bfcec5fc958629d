package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/hint"
)

func TestRenderOfASample(t *testing.T) {
	sendsNoFrames(t)
	got, err := command(t, "render", "-f", "../../config/samples/bgp", "--kind", "nxos", "--interface", "p2=Ethernet2/7", "--set", "bed.spec.routing.bgp.sessions[peer].addPath=true")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"interface Ethernet1/1\n", "interface Ethernet2/7\n  no switchport\n  description port p2 of the tester\n  ip address 198.18.128.1/17\n",
		"  neighbor 198.18.0.2\n    remote-as 65001\n    description peer-p1\n", "    remote-as 65004\n", "  bfd interval 150 min_rx 150 multiplier 3\n", "additional-paths send",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestRenderFiltersByThePolicy(t *testing.T) {
	sendsNoFrames(t)
	got, err := command(t, "render", "-f", "../../config/samples/bgp", "--kind", "bird", "--set", "bed.spec.policy.routes.prefixes=[20.0.0.0/8]")
	if want := "ipv4 { import filter { if net ~ [ 20.0.0.0/8+ ] then accept; reject; }; export all; };"; err != nil || !strings.Contains(got, want) {
		t.Errorf("%v; %q is missing in\n%s", err, want, got)
	}
}

func TestRenderRefuses(t *testing.T) {
	sendsNoFrames(t)
	sample := func(name string, more ...string) []string {
		return append([]string{"render", "-f", "../../config/samples/" + name}, more...)
	}
	for name, test := range map[string]struct {
		args       []string
		want, hint string
	}{
		"no kind":        {sample("bgp"), `--kind: there is no kind ""`, "give one of bird, eos, frr, junos, nxos, srlinux"},
		"unknown kind":   {sample("bgp", "--kind", "ios"), `--kind: there is no kind "ios"`, "give one of bird, eos, frr, junos, nxos, srlinux"},
		"no name":        {sample("bgp", "--kind", "frr", "--interface", "p1"), `--interface: "p1" is not PORT=NAME`, "give the name of a port and the device's interface there, such as p1=Ethernet1"},
		"twice":          {sample("bgp", "--kind", "frr", "--interface", "p1=a", "--interface", "p1=b"), "--interface: port p1 is given twice", ""},
		"unknown port":   {sample("bgp", "--kind", "frr", "--interface", "p9=eth9"), `--interface: test bed bgp has no port "p9"; its 4 ports are p1 to p4`, ""},
		"unknown bed":    {sample("bgp", "--kind", "frr", "bpg"), `no TestBed is called "bpg"`, `did you mean "bgp"? the beds given are bgp`},
		"several beds":   {sample("compare", "--kind", "frr"), "there are 2 beds: ", "name the one that is meant after the flags"},
		"no bed":         {sample("sim/2-profile.yaml", "--kind", "frr", "x"), `no TestBed is called "x"`, ""},
		"no sessions":    {sample("sim", "--kind", "frr"), "has neither sessions nor multicast routing, which the configuration is about: add bgp, ldp or pim", ""},
		"not of a kind":  {sample("bgp", "--kind", "eos", "--set", "bed.spec.routing.bgp.sessions[peer].bfd.multiplier=2"), "session peer-p1: bfd.multiplier: 2; EOS takes 3 to 50", ""},
		"an invalid bed": {sample("bgp", "--kind", "eos", "--set", "bed.spec.routing.bgp.sessions[peer].asn=4294967294"), "the AS numbers of 4 sessions count up to 4294967297", ""},
	} {
		_, err := command(t, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(hint.Of(err), test.hint) {
			t.Errorf("%s: got %v (hint %q), want %s (hint %q)", name, err, hint.Of(err), test.want, test.hint)
		}
	}
}
