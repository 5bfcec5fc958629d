package sshcli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/fakenos"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// secret is a secret in the configurations.
const secret = "hunter2"

// vendor is a command line that fakenos emulates.
type vendor struct {
	// device is its name for the test kit.
	device string
	shell  *sshcli.Shell
	// name and software are parts of messages and of what the device reports.
	name, software string
	// replace are lines of the base and what is there in another configuration, which also has added lines and a list with
	// entries.
	replace []string
	// list is the line that begins the list, or the beginning of each entry where lines have no contexts.
	list  string
	flat  bool
	entry func(i int) string
	// rejected is a line that the device rejects, and otherwise a line that it reports as another one.
	rejected, otherwise string
	reported            string
}

var vendors = []vendor{
	{
		device: "arista_eos", shell: sshcli.EOS, name: "Arista EOS", software: "Arista EOS 4.26.0F-21792469.4260F",
		replace: []string{
			"ntp server 1.1.1.1\n", "snmp-server community " + secret + " ro\nip route 198.18.3.0/24 198.18.1.9\n",
			" mtu 9200\n", " mtu 9000\n ip access-group filter in\n",
			" description Customer #56924 service\n", "",
		},
		list: "ip access-list filter", entry: func(i int) string { return fmt.Sprintf("%d deny ip 198.18.%d.0/24 any", 10*(i+1), i) },
		rejected: "ip route 198.18.300.0/24 198.18.1.9", otherwise: "ip route 198.18.9.1/24 198.18.1.9", reported: "+ ip route 198.18.9.0/24 198.18.1.9",
	},
	{
		device: "cisco_iosxe", shell: sshcli.IOSXE, name: "Cisco IOS-XE", software: "Cisco IOS-XE 17.03.01a",
		replace: []string{
			"ntp server 8.8.8.8\n", "snmp-server community " + secret + " RO\nip route 198.18.3.0 255.255.255.0 198.18.1.9\n",
			"interface Ethernet0/1\n no ip address\n", "interface Ethernet0/1\n ip address 198.18.1.1 255.255.255.0\n ip access-group filter in\n",
			" neighbor 10.0.0.4 inherit peer-session RR\n", "",
		},
		list: "ip access-list extended filter", entry: func(i int) string { return fmt.Sprintf("%d deny ip 198.18.%d.0 0.0.0.255 any", 10*(i+1), i) },
		rejected: "ip route 198.18.300.0 255.255.255.0 198.18.1.9", otherwise: "ip access-list extended filter\n 9990 deny ip 198.18.9.1 0.0.0.255 any",
		reported: "+ ip access-list extended filter > 9990 deny ip 198.18.9.0 0.0.0.255 any",
	},
	{
		device: "cisco_nxos", shell: sshcli.NXOS, name: "Cisco NX-OS", software: "Cisco NX-OS 7.1(4)N1(1)",
		replace: []string{
			"ip route 198.18.100.0/24 198.18.1.9\n", "ip route 198.18.3.0/24 198.18.1.9\n",
			" ip address 198.18.1.1/24\n", " ip address 198.18.1.1/24\n ip access-group filter in\n",
			"  remote-as 65002\n", "  remote-as 65003\n  password 3 " + secret + "\n",
		},
		list: "ip access-list filter", entry: func(i int) string { return fmt.Sprintf("%d deny ip 198.18.%d.0/24 any", 10*(i+1), i) },
		rejected: "ip route 198.18.300.0/24 198.18.1.9", otherwise: "ip route 198.18.9.1/24 198.18.1.9", reported: "+ ip route 198.18.9.0/24 198.18.1.9",
	},
	{
		device: "juniper_junos", shell: sshcli.Junos, name: "Juniper Junos", software: "Juniper Junos 13.2X51-D35.3",
		replace: []string{
			"set snmp community public authorization read-only\n", "set snmp community " + secret + " authorization read-only\n",
			"set interfaces ge-0/0/0 mtu 9200\n", "set interfaces ge-0/0/0 mtu 9000\n",
			"set interfaces ge-0/0/1 unit 0 family inet address 198.18.2.1/24\n", "set interfaces ge-0/0/0 unit 0 family inet filter input filter\n",
		},
		list: "set firewall family inet filter filter ", flat: true, entry: func(i int) string { return fmt.Sprintf("term %d from source-address 198.18.%d.0/24", i, i) },
		rejected:  "set routing-options static route 198.18.300.0/24 next-hop 198.18.1.9",
		otherwise: "set routing-options static route 198.18.9.1/24 next-hop 198.18.1.9", reported: "+ set routing-options static route 198.18.9.0/24 next-hop 198.18.1.9",
	},
	{
		device: "nokia_srl", shell: sshcli.SRLinux, name: "Nokia SR Linux", software: "Nokia SR Linux v24.10.1",
		replace: []string{
			"$aes1$AWAdu4eU6gBcGG8=$5e7xP9EPZNMu4yweZDHwXA==", "$aes1$" + secret,
			" mtu 9200\n", " mtu 9000\n",
			"export-policy [ first second ]", "export-policy [ second ]",
			"            next-hop-group tester\n", "",
		},
		list: "set / acl acl-filter filter type ipv4 entry ", flat: true, entry: func(i int) string { return fmt.Sprintf("%d match ipv4 source-ip prefix 198.18.%d.0/24", i, i) },
		rejected:  "set / network-instance default static-routes route 198.18.300.0/24 next-hop-group tester",
		otherwise: "set / network-instance default static-routes route 198.18.9.1/24 next-hop-group tester",
		reported:  "+ set / network-instance default static-routes route 198.18.9.0/24 next-hop-group tester",
	},
}

// other is the base with other lines and a list.
func (v *vendor) other(base configure.Configuration, entries int) configure.Configuration {
	var out strings.Builder
	out.WriteString(strings.NewReplacer(v.replace...).Replace(string(base)))
	begin := v.list
	if !v.flat {
		out.WriteString(v.list + "\n")
		begin = " "
	}
	for i := range entries {
		out.WriteString(begin + v.entry(i) + "\n")
	}
	return configure.Configuration(out.String())
}

// start starts the device.
func (v *vendor) start(t *testing.T) *drivertest.Device {
	f := fakenos.Start(t, v.device)
	return drivertest.OverSSH(drivertest.Device{
		Address: f.Address, Running: f.Running, Other: v.other, Secret: secret,
		Rejected: func(base configure.Configuration) (configure.Configuration, string) {
			behind := "ntp server 198.18.7.1\n"
			if v.flat {
				behind = v.list + v.entry(200) + "\n"
			}
			return v.other(base, 20) + configure.Configuration(v.rejected+"\n"+behind), v.rejected
		},
		Otherwise: func(base configure.Configuration) (configure.Configuration, string) {
			return v.other(base, 3) + configure.Configuration(v.otherwise+"\n"), v.reported
		},
	}, f.HostKey, func(c sshaccess.Config) (configure.Driver, error) { return sshcli.New(v.shell, c) }, "shows no prompt of "+v.name+" within 2s")
}

// TestVendors takes command lines of other vendors through everything that may happen to a change.
func TestVendors(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.device, func(t *testing.T) {
			t.Parallel()
			v.start(t).Run(t)
		})
	}
}

// TestVendorsSoftware has each command line report its version.
func TestVendorsSoftware(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.device, func(t *testing.T) {
			t.Parallel()
			got, err := connect(t, v.shell, fakenos.Start(t, v.device)).Software()
			if err != nil || got != v.software {
				t.Errorf("%q, %v, want %q", got, err, v.software)
			}
		})
	}
}

// TestVendorsLostConnection cuts the connection at more and more places of a change.
func TestVendorsLostConnection(t *testing.T) {
	for _, v := range vendors {
		t.Run(v.device, func(t *testing.T) {
			if v.shell != sshcli.EOS {
				longtest.Skip(t, "EOS, which has commits that are confirmed, and FRR, whose lines take effect at once")
			}
			t.Parallel()
			v.start(t).RunLost(t, 60, 2500, 9500)
		})
	}
}

// TestVendorsLeft has a session end in the middle of a change: before the commit, and before its confirmation. The next session
// takes the change back before it reads.
func TestVendorsLeft(t *testing.T) {
	eos := []string{"configure session nodrop", "no ntp server 1.1.1.1", "show session-config diffs"}
	junos := []string{"configure exclusive", "delete system services ssh", "show | compare"}
	srLinux := []string{"enter candidate private name nodrop", "delete / interface ethernet-1/1 mtu", "diff flat"}
	const commits = "info from state system configuration commit *"
	for name, tc := range map[string]struct {
		device string
		shell  *sshcli.Shell
		begun  []string
		// shows is a part of what the lines print, and pending what the device shows of the change, with the command list.
		shows, list, pending string
		committed            bool
	}{
		"EOS, an open candidate":          {"arista_eos", sshcli.EOS, eos, "-ntp server 1.1.1.1", "show configuration sessions detail", "nodrop", false},
		"EOS, an unconfirmed commit":      {"arista_eos", sshcli.EOS, append(eos, "commit timer 00:02:00", "show configuration sessions detail"), "timer: nodrop", "show configuration sessions detail", "nodrop", true},
		"Junos, an open candidate":        {"juniper_junos", sshcli.Junos, junos, "-set system services ssh", "show system commit", "rollback in", false},
		"Junos, an unconfirmed commit":    {"juniper_junos", sshcli.Junos, append(junos, "commit confirmed 2", "exit", "show system commit"), "rollback in 2mins", "show system commit", "rollback in", true},
		"SR Linux, an open candidate":     {"nokia_srl", sshcli.SRLinux, srLinux, "delete / interface ethernet-1/1 mtu 9200", commits, "unconfirmed", false},
		"SR Linux, an unconfirmed commit": {"nokia_srl", sshcli.SRLinux, append(srLinux, "commit confirmed timeout 120", commits), "status unconfirmed", commits, "unconfirmed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fakenos.Start(t, tc.device)
			base := f.Running()
			if out := f.Enter(tc.begun); !strings.Contains(out, tc.shows) || tc.committed == (f.Running() == base) {
				t.Fatalf("the device has no change: %s", out)
			}
			s := connect(t, tc.shell, f)
			if now, err := s.Running(); err != nil || f.Running() != base || len(tc.shell.Dialect.Differences(configure.Configuration(base), now)) > 0 {
				t.Errorf("%v: the device has\n%s\nwant\n%s", err, now, base)
			}
			if out := f.Enter([]string{tc.list}); strings.Contains(out, tc.pending) {
				t.Errorf("a change is left: %s", out)
			}
		})
	}
}

// TestVendorsTakenBack has a device take a commit back by itself while a session of NoDrop is about to. With Junos, the configuration before it is
// then the rejected one, and is not committed.
func TestVendorsTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		device string
		shell  *sshcli.Shell
		// begun makes a change and has its time end when the device shows it.
		begun []string
	}{
		"Junos":    {"juniper_junos", sshcli.Junos, []string{"configure exclusive", "delete system services ssh", "commit confirmed 2", "exit", "test expire"}},
		"SR Linux": {"nokia_srl", sshcli.SRLinux, []string{"enter candidate private name nodrop", "delete / interface mgmt0", "commit confirmed timeout 120", "test expire"}},
	} {
		t.Run(name+", of an earlier session", func(t *testing.T) {
			t.Parallel()
			f := fakenos.Start(t, tc.device)
			base := f.Running()
			f.Enter(tc.begun)
			if f.Running() == base {
				t.Fatal("the device has no change")
			}
			now, err := connect(t, tc.shell, f).Running()
			if left := tc.shell.Dialect.Differences(configure.Configuration(base), now); err != nil || f.Running() != base || len(left) > 0 {
				t.Errorf("%v: the device has\n%s\nwant\n%s", err, f.Running(), base)
			}
		})
		t.Run(name+", of the same session", func(t *testing.T) {
			t.Parallel()
			f := fakenos.Start(t, tc.device)
			base := f.Running()
			s := connect(t, tc.shell, f)
			have, err := s.Running()
			if err != nil {
				t.Fatal(err)
			}
			f.Enter([]string{"test expire"})
			want := configure.Configuration(strings.Replace(string(have), "mtu 9200", "mtu 9000", 1))
			var different *configure.DifferentError
			if _, err := s.Change(have, want); !errors.As(err, &different) {
				t.Errorf("got %v, want a change that the device does not have any more", err)
			}
			if now := f.Running(); now != base {
				t.Errorf("the device has\n%s\nwant\n%s", now, base)
			}
		})
	}
}

// connect opens a session with a device.
func connect(t *testing.T, shell *sshcli.Shell, f *fakenos.Device) configure.Session {
	t.Helper()
	driver, err := sshcli.New(shell, f.Access())
	if err != nil {
		t.Fatal(err)
	}
	s, err := driver.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
