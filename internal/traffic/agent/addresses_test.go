package agent

import (
	"fmt"
	"strings"
	"testing"
)

func TestPrefixesCountUpFromThePortsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		port        PortConfig
		want, fails string
	}{
		"own only":   {port: PortConfig{Addresses: []string{"198.18.1.2/24", "2001:2::2/64"}}, want: "[198.18.1.2/24 2001:2::2/64]"},
		"hosts":      {port: PortConfig{Addresses: []string{"198.18.0.254/23"}, Hosts: &Hosts{After: "198.18.0.254/23", Count: 2}}, want: "[198.18.0.254/23 198.18.0.255/23 198.18.1.0/23]"},
		"no address": {port: PortConfig{Name: "p1", Addresses: []string{"x"}}, fails: `port p1: address "x"`},
		"no host":    {port: PortConfig{Name: "p1", Hosts: &Hosts{After: "x", Count: 1}}, fails: `port p1: hosts after "x"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.port.Prefixes()
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want %s", err, c.fails)
				}
				return
			}
			if err != nil || fmt.Sprint(got) != c.want {
				t.Errorf("prefixes %v, error %v, want %s", got, err, c.want)
			}
		})
	}
}
