package iproute2

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// printed is the output of ip on Linux with labels.
const printed = `routes boot -4
198.18.9.0/24  encap mpls  1000/7 via 198.18.2.2 dev e2 metric 5 linkdown 
198.18.11.0/24 \	nexthop via 198.18.2.2 dev e2 weight 2 \	nexthop via 198.18.1.2 dev e1 weight 1 
blackhole 198.18.12.0/24 
routes static -4
198.18.13.0/24 via 198.18.1.2 dev e1 
198.18.14.0/24 \	nexthop via 198.18.2.2 dev e2 weight 1 \	nexthop via 198.18.1.2 dev e1 weight 1 
routes boot -6
unreachable 2001:2:0:a::/64 dev lo metric 1024 error -101 pref medium
routes static -6
routes boot -f mpls
1000 as to 2000 via inet 198.18.2.2 dev e2 
1001 via inet 198.18.2.2 dev e2 dead linkdown 
routes static -f mpls
`

const configuration = `ip -4 route add 198.18.11.0/24 nexthop via 198.18.2.2 dev e2 weight 2 nexthop via 198.18.1.2 dev e1 weight 1
ip -4 route add 198.18.13.0/24 via 198.18.1.2 dev e1 proto static
ip -4 route add 198.18.14.0/24 proto static nexthop via 198.18.2.2 dev e2 weight 1 nexthop via 198.18.1.2 dev e1 weight 1
ip -4 route add 198.18.9.0/24 encap mpls 1000/7 via 198.18.2.2 dev e2 metric 5
ip -4 route add blackhole 198.18.12.0/24
ip -6 route add unreachable 2001:2:0:a::/64 dev lo metric 1024 pref medium
ip -f mpls route add 1000 as to 2000 via inet 198.18.2.2 dev e2
ip -f mpls route add 1001 via inet 198.18.2.2 dev e2
`

// TestReported reads what a device prints.
func TestReported(t *testing.T) {
	t.Parallel()
	c, err := Language{}.Parse(reported(printed))
	if err != nil || string(c) != configuration {
		t.Errorf("%v\n%s\nwant\n%s", err, c, configuration)
	}
}

// TestCommands replaces routes, and orders the others: routes to a router need a direct route to it.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ from, to, want []string }{
		"nothing":                     {[]string{"ip route add 198.18.9.0/24 dev e1"}, []string{"# a comment", " ip  -4 route add 198.18.9.0/24 dev e1"}, nil},
		"a protocol in another place": {[]string{"ip route add 198.18.9.0/24 dev e1 proto static metric 7"}, []string{"ip route add 198.18.9.0/24 dev e1 metric 7 proto static"}, nil},
		"a label": {
			[]string{"ip -f mpls route add 1000 as to 2000 via inet 198.18.2.2 dev e2"}, []string{"ip -f mpls route add 1000 via inet 198.18.2.2 dev e2"},
			[]string{"ip -f mpls route replace 1000 via inet 198.18.2.2 dev e2"},
		},
		"another metric": {
			[]string{"ip route add blackhole 198.18.9.0/24"}, []string{"ip route add blackhole 198.18.9.0/24 metric 7"},
			[]string{"ip -4 route del blackhole 198.18.9.0/24", "ip -4 route add blackhole 198.18.9.0/24 metric 7"},
		},
		"another type": {
			[]string{"ip route add blackhole 198.18.9.0/24"}, []string{"ip route add 198.18.9.0/24 dev e1"},
			[]string{"ip -4 route replace 198.18.9.0/24 dev e1"},
		},
		"families and next hops": {
			[]string{"ip route add 198.18.1.0/24 dev e1", "ip route add 198.18.8.0/24 via 198.18.1.9"},
			[]string{"ip -f mpls route add 16 dev lo", "ip -6 route add 2001:2::/64 dev e1", "ip route add 198.18.2.0/24 via 198.18.3.9", "ip route add 198.18.3.0/24 dev e1"},
			[]string{
				"ip -4 route del 198.18.8.0/24 via 198.18.1.9", "ip -4 route del 198.18.1.0/24 dev e1", "ip -4 route add 198.18.3.0/24 dev e1",
				"ip -4 route add 198.18.2.0/24 via 198.18.3.9", "ip -6 route add 2001:2::/64 dev e1", "ip -f mpls route add 16 dev lo",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, err := Language{}.Parse(strings.Join(tc.from, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			to, err := Language{}.Parse(strings.Join(tc.to, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := (Language{}).Commands(from, to); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if d := (Language{}).Differences(from, to); (len(d) == 0) != (len(tc.want) == 0) {
				t.Errorf("the differences are %q", d)
			}
		})
	}
}

// TestParse refuses what is no route, and what ip would read as more than one.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		configuration:                             "",
		"":                                        "it configures nothing",
		"198.18.9.0/24 dev e1\n":                  "adds no route",
		"ip route del 198.18.9.0/24\n":            "adds no route",
		"ip route add 198.18.9.0/24 dev e1 \\\n":  "adds no route",
		"ip route add $(reboot)\n":                "adds no route",
		"ip -f bridge route add 198.18.9.0/24\n":  "adds no route",
		"ip -6 route add linkdown\n":              "has no destination",
		"ip route add 16\nip -4 route add 16\n":   "is there twice",
		"ip link set e1 down\n":                   "adds no route",
		"ip route add 16 dev e1; reboot\n":        "adds no route",
		"ip route add 16 dev e1 # a comment\n":    "adds no route",
		"ip route add 16 dev 'e1'\n":              "adds no route",
		"ip -4 -6 route add 16 dev e1\n":          "adds no route",
		"ip route add 16 dev e1\nreboot\n":        "adds no route",
		"ip route add 16 dev e1\\\nroute flush\n": "adds no route",
	} {
		_, err := configure.Whole(Language{}, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse reads any text, and what a device may print.
func FuzzParse(f *testing.F) {
	f.Add(configuration)
	f.Add(printed)
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, reported(text)} {
			c, err := Language{}.Parse(text)
			if err != nil {
				continue
			}
			if again, err := (Language{}).Parse(string(c)); err != nil || again != c {
				t.Errorf("%q is %q when it is read again: %v", c, again, err)
			}
			if d := (Language{}).Differences(c, c); len(d) > 0 || len((Language{}).Commands(c, c)) > 0 {
				t.Errorf("it differs from itself: %q", d)
			}
		}
	})
}
