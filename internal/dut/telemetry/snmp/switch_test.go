package snmp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/telemetry/snmp"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// outlets are two outlets of a power distribution unit, whose switches are objects 1 and 2. The script writes down what they are set to.
const outlets = `$| = 1;
my ($log) = @ARGV;
while (<STDIN>) {
  next unless /\S/; # A value ends with an empty line.
  if (/PING/) { print "PONG\n"; next; }
  my $sets = /^set/;
  chomp(my $oid = <STDIN>);
  if (!$sets) { print "$oid\ninteger\n1\n"; next; }
  my ($type, $value) = split " ", <STDIN>;
  if ($oid !~ /\.([12])$/) { print "not-writable\n"; next; }
  open my $out, ">>", $log or die;
  print $out "$1=$value\n";
  close $out;
  print "DONE\n";
}
`

// TestSwitch turns outlets off and on by Debian's SNMP agent.
func TestSwitch(t *testing.T) {
	l := device(t)
	folder := t.TempDir()
	script, log := filepath.Join(folder, "outlets"), filepath.Join(folder, "log")
	if err := os.WriteFile(script, []byte(outlets), 0o600); err != nil {
		t.Fatal(err)
	}
	const base = "1.3.6.1.4.1.8072.9999.1"
	address := l.ServeSNMP("pass_persist ." + base + " /usr/bin/perl " + script + " " + log)
	// logged waits for what the outlets were set to, and begins anew.
	logged := func(want string) {
		t.Helper()
		var got string
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			text, _ := os.ReadFile(log)
			if got = strings.Join(strings.Fields(string(text)), " "); got == want {
				_ = os.Remove(log)
				return
			}
		}
		t.Fatalf("the outlets were set to %q, want %q", got, want)
	}
	for name, access := range map[string]snmp.Config{
		"version 2c": {Address: address, Community: sshrouter.Community},
	} {
		both := []snmp.SwitchedOutlet{{base + ".1", 1, 2}, {base + ".2", 5, 6}}
		s, err := snmp.NewSwitch(access, both)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.On(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		logged("1=1 2=5")
		if err := s.Cycle(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		logged("1=2 2=6 1=1 2=5")
		if err := s.Cycle(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := s.Cycle(t.Context(), time.Hour); err == nil || err.Error() != "the power is off already" {
			t.Errorf("%v", err)
		}
		s.Close()
		logged("1=2 2=6 1=1 2=5")
	}
	for name, tc := range map[string]struct {
		access snmp.Config
		outlet string
		want   string
	}{
		"another object": {snmp.Config{Address: address, Community: sshrouter.Community}, base + ".3", "it refuses to set object " + base + ".3"},
		"a user that may not write": {snmp.Config{Address: address, User: sshrouter.SNMPUser, Authentication: "SHA256", AuthenticationPassword: sshrouter.SNMPPassword, PrivacyPassword: sshrouter.SNMPPassword},
			base + ".1", "give a user or writeCommunity that may write"},
	} {
		s, err := snmp.NewSwitch(tc.access, []snmp.SwitchedOutlet{{tc.outlet, 1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.On(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		s.Close()
	}
}
