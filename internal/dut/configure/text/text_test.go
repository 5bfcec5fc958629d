package text

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
)

var dialect = &Dialect{
	Comments: []string{"!", "Current configuration"}, Closing: []string{"exit", "end"}, Permanent: []string{"interface "}, Exit: "exit",
	Secrets: regexp.MustCompile(`(password)() \S+`),
}

const base = `Current configuration:
!
hostname dut
endpoint a
!
ip route 198.18.1.0/24 198.18.0.1
ip route 198.18.2.0/24 198.18.0.1
!
interface p1
 ip address 198.18.0.2/24
exit
!
router bgp 65001
 no bgp ebgp-requires-policy
 neighbor 198.18.0.1 remote-as 65002
 !
 address-family ipv4 unicast
  network 198.18.1.0/24
 exit-address-family
exit
!
end
`

// TestParse reads what a device prints, and what it wrote itself.
func TestParse(t *testing.T) {
	t.Parallel()
	tree := dialect.read(base)
	const want = `hostname dut
endpoint a
ip route 198.18.1.0/24 198.18.0.1
ip route 198.18.2.0/24 198.18.0.1
interface p1
 ip address 198.18.0.2/24
router bgp 65001
 no bgp ebgp-requires-policy
 neighbor 198.18.0.1 remote-as 65002
 address-family ipv4 unicast
  network 198.18.1.0/24
`
	if got := tree.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again := dialect.read(tree.String()).String(); again != want {
		t.Errorf("what was written is read as\n%s", again)
	}
}

// TestCommands finds the way from the base to other configurations.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replace  []string
		commands string
		differs  []string
	}{
		"nothing": {nil, "", nil},
		"another order": {
			[]string{"ip route 198.18.1.0/24 198.18.0.1\nip route 198.18.2.0/24 198.18.0.1\n", "ip route 198.18.2.0/24 198.18.0.1\nip route 198.18.1.0/24 198.18.0.1\n"}, "", nil,
		},
		"a line": {
			[]string{"ip route 198.18.2.0/24", "ip route 198.18.3.0/24"},
			"no ip route 198.18.2.0/24 198.18.0.1\nip route 198.18.3.0/24 198.18.0.1",
			[]string{"- ip route 198.18.2.0/24 198.18.0.1", "+ ip route 198.18.3.0/24 198.18.0.1"},
		},
		"a line that turns something off": {
			[]string{" no bgp ebgp-requires-policy\n", ""}, "router bgp 65001\nbgp ebgp-requires-policy\nexit",
			[]string{"- router bgp 65001 > no bgp ebgp-requires-policy"},
		},
		"a line of an interface, which stays": {
			[]string{"interface p1\n ip address 198.18.0.2/24\n", "interface p1\n"}, "interface p1\nno ip address 198.18.0.2/24\nexit",
			[]string{"- interface p1 > ip address 198.18.0.2/24"},
		},
		"an interface": {
			[]string{"interface p1\n ip address 198.18.0.2/24\n", ""}, "interface p1\nno ip address 198.18.0.2/24\nexit",
			[]string{"- interface p1 > ip address 198.18.0.2/24"},
		},
		"a line of a context in a context": {
			[]string{"  network 198.18.1.0/24", "  network 198.18.9.0/24"},
			"router bgp 65001\naddress-family ipv4 unicast\nno network 198.18.1.0/24\nexit\nexit\nrouter bgp 65001\naddress-family ipv4 unicast\nnetwork 198.18.9.0/24\nexit\nexit",
			[]string{"- router bgp 65001 > address-family ipv4 unicast > network 198.18.1.0/24", "+ router bgp 65001 > address-family ipv4 unicast > network 198.18.9.0/24"},
		},
		"another context": {
			[]string{base[strings.Index(base, "router bgp"):], "router ospf\n network 198.18.0.0/24 area 0\n"},
			"no router bgp 65001\nrouter ospf\nnetwork 198.18.0.0/24 area 0\nexit",
			[]string{"- router bgp 65001", "+ router ospf", "+ router ospf > network 198.18.0.0/24 area 0"},
		},
		"a secret": {
			[]string{"hostname dut\n", "hostname dut\nkey password hunter2\n"}, "key password hunter2", []string{"+ key password (hidden)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have, want := configure.Configuration(base), configure.Configuration(strings.NewReplacer(tc.replace...).Replace(base))
			if got := strings.Join(dialect.Commands(have, want), "\n"); got != tc.commands {
				t.Errorf("the commands are\n%s\nwant\n%s", got, tc.commands)
			}
			if got := dialect.Differences(have, want); !slices.Equal(got, tc.differs) {
				t.Errorf("the differences are %q, want %q", got, tc.differs)
			}
		})
	}
}

// FuzzParse has any text be read, written and read again, and finds no command between both.
func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add(" a\nb\n  c\n d\n")
	f.Add("\t\n x\n\ta")
	f.Fuzz(func(t *testing.T, text string) {
		first, _ := dialect.Parse(text)
		again, _ := dialect.Parse(string(first))
		if left := dialect.Commands(first, again); len(left) > 0 {
			t.Errorf("%q is read as %q: %q", text, first, left)
		}
		if again != first {
			t.Errorf("%q is written as %q and %q", text, first, again)
		}
	})
}
