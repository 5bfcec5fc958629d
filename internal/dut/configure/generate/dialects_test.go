package generate

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWrite holds what is written in each dialect against the golden files.
func TestWrite(t *testing.T) {
	t.Parallel()
	for kind, config := range map[string]interface {
		Write(Dialect) (string, error)
	}{
		"acl": small(), "filter": filter(), "nat": nat(), "classes": classes(),
		"mirror": &Mirror{Name: "lab", From: "e1", To: []string{"e2", "e3"}},
	} {
		written := 0
		for _, d := range Dialects {
			got, err := config.Write(d)
			if err != nil && strings.HasPrefix(err.Error(), "dialect: Unsupported value") {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			written++
			file := filepath.Join("testdata", kind+"."+string(d))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(file); err != nil || got != string(want) {
				t.Errorf("%s: %v:\n%s\nwant\n%s", file, err, got, want)
			}
		}
		if want := strings.Count(NamesOf(kind), ",") + 1; written != want || NamesOf(kind) == "" {
			t.Errorf("%s was written in %d dialects, want %s", kind, written, NamesOf(kind))
		}
	}
}

func filter() *Filter {
	return &Filter{Name: "lab", Ports: []string{"Ethernet1/1"}, Direction: Egress, First: netip.MustParsePrefix("198.18.254.0/24"), Count: 3, Deny: true}
}

func nat() *NAT {
	a := netip.MustParseAddr
	return &NAT{
		Name: "lab", Inside: netip.MustParsePrefix("198.18.1.0/24"),
		Static: []StaticNAT{{"e2", a("198.18.1.2"), a("198.18.2.200")}, {"e2", a("198.18.1.3"), a("198.18.2.201")}},
		PAT:    []PAT{{"e3", a("198.18.3.200")}},
	}
}

func classes() *Classes {
	return &Classes{Name: "lab", Port: "e2", Classes: []Class{{"cs5", "1:10"}, {"cs3", "1:20"}}, Default: "1:30"}
}

// TestConfigurationsRefused names the field of a configuration that cannot be.
func TestConfigurationsRefused(t *testing.T) {
	t.Parallel()
	check := func(want string, config interface{ Check() error }) {
		t.Helper()
		if err := config.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, change := range map[string]func(*Filter){
		"direction: Unsupported value":  func(f *Filter) { f.Direction = "in" },
		"count: Invalid value: 0":       func(f *Filter) { f.Count = 0 },
		"count: Invalid value: 65536: ": func(f *Filter) { f.Count, f.First = 1<<16, netip.MustParsePrefix("255.255.0.0/24") },
		"first: Invalid value":          func(f *Filter) { f.First = netip.Prefix{} },
		"name: Invalid value":           func(f *Filter) { f.Name = "" },
		"ports[1]: Duplicate value":     func(f *Filter) { f.Ports = []string{"e1", "e1"} },
	} {
		f := filter()
		change(f)
		check(want, f)
	}
	for want, change := range map[string]func(*NAT){
		"inside: Invalid value":           func(n *NAT) { n.Inside = netip.MustParsePrefix("198.18.1.1/24") },
		"static and pat: Required value":  func(n *NAT) { n.Static, n.PAT = nil, nil },
		"static[1]: Invalid value: \"192": func(n *NAT) { n.Static[1].Inside = netip.MustParseAddr("192.0.2.1") },
		"pat[0]: Invalid value: \"2001":   func(n *NAT) { n.PAT[0].Outside = netip.MustParseAddr("2001:2::1") },
		"static[0]: Invalid value: \"e 1": func(n *NAT) { n.Static[0].Port = "e 1" },
	} {
		n := nat()
		change(n)
		check(want, n)
	}
	check("to: Invalid value", &Mirror{Name: "lab", From: "e1", To: []string{"e2", "e1"}})
	check("to: Invalid value: 0 ", &Mirror{Name: "lab", From: "e1"})
	for want, change := range map[string]func(*Classes){
		"class: Required value":       func(c *Classes) { c.Classes = nil },
		"class[1]: Unsupported value": func(c *Classes) { c.Classes[1].DSCP = "gold" },
		"class[1]: Duplicate value":   func(c *Classes) { c.Classes[1].DSCP = "cs5" },
		"class[0]: Invalid value":     func(c *Classes) { c.Classes[0].Queue = "10" },
		"default: Invalid value":      func(c *Classes) { c.Default = "" },
	} {
		c := classes()
		change(c)
		check(want, c)
	}
}
