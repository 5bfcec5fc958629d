package openvswitch

import (
	"slices"
	"strings"
	"testing"
)

// TestLanguage reads and compares flows.
func TestLanguage(t *testing.T) {
	t.Parallel()
	const device = "bridge br1\nbridge br0\n priority=1,arp actions=NORMAL\n# a comment\n ip,in_port=1  actions=output:2\n"
	c, err := Language{}.Parse(device)
	if want := "bridge br0\nip,in_port=1 actions=output:2\npriority=1,arp actions=NORMAL\nbridge br1\n"; err != nil || string(c) != want {
		t.Errorf("%q, %v, want %q", c, err, want)
	}
	other, err := Language{}.Parse("bridge br0\npriority=1,arp actions=NORMAL\nip,in_port=1 actions=output:3\nbridge br2\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"- br0: ip,in_port=1 actions=output:2", "- bridge br1", "+ br0: ip,in_port=1 actions=output:3", "+ bridge br2"}
	if got := (Language{}).Differences(c, other); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	commands := []string{"ovs-ofctl -O OpenFlow13 --bundle replace-flows br0 -", "ip,in_port=1 actions=output:3", "priority=1,arp actions=NORMAL"}
	if got := (Language{}).Commands(c, other); !slices.Equal(got, commands) {
		t.Errorf("%q, want %q", got, commands)
	}
	for text, want := range map[string]string{
		"ip actions=drop\n":              "is behind no bridge",
		"bridge br0; reboot\n":           "is behind no bridge",
		"bridge a-name-that-is-long\n":   "is behind no bridge",
		"bridge br0\nreboot\n":           "is no flow",
		"bridge br0\nbridge br0\n":       "is there twice",
		"bridge br0\nbridge $(reboot)\n": "is behind no bridge",
	} {
		if _, err := (Language{}).Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse reads what a device may send.
func FuzzParse(f *testing.F) {
	f.Add("bridge br0\n ip actions=drop\nbridge br1\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Language{}.Parse(text)
		if err != nil {
			return
		}
		if again, err := (Language{}).Parse(string(c)); err != nil || again != c {
			t.Errorf("%q is %q when it is read again: %v", c, again, err)
		}
		if d := (Language{}).Differences(c, c); len(d) > 0 {
			t.Errorf("it differs from itself: %q", d)
		}
	})
}
