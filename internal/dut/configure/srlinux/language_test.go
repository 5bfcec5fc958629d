package srlinux

import (
	"os"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
)

const base = `    interface ethernet-1/1 {
        description "to the tester"
        mtu 9200
        subinterface 0 {
            ipv4 {
                admin-state enable
                address 198.18.1.1/24 {
                }
            }
        }
    }
    interface ethernet-1/2 {
    }
    network-instance default {
        interface ethernet-1/1.0 {
        }
        protocols {
            bgp {
                group tester {
                    export-policy [
                        first
                        second
                    ]
                }
            }
        }
    }
    system {
        tls {
            server-profile lab {
                certificate "-----BEGIN CERTIFICATE-----
MIIB
-----END CERTIFICATE-----"
            }
        }
    }

`

// flat is the base as "info flat" prints it.
const flat = `set / interface ethernet-1/1 description "to the tester"
set / interface ethernet-1/1 mtu 9200
set / interface ethernet-1/1 subinterface 0 ipv4 admin-state enable
set / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.1/24
set / interface ethernet-1/2
set / network-instance default interface ethernet-1/1.0
set / network-instance default protocols bgp group tester export-policy [ first second ]
set / system tls server-profile lab certificate "-----BEGIN CERTIFICATE-----
MIIB
-----END CERTIFICATE-----"
`

// TestForms reads a configuration in both forms of the device, and what it wrote itself.
func TestForms(t *testing.T) {
	t.Parallel()
	have := drivertest.Parsed(t, Language{}, base)
	if again := drivertest.Parsed(t, Language{}, string(have)); again != have {
		t.Errorf("what was written is read as\n%s", again)
	}
	if got := drivertest.Parsed(t, Language{}, flat); string(got) != flat {
		t.Errorf("got\n%s\nwant\n%s", got, flat)
	}
	older := "# info flat of older versions\n\nset / interface ethernet-1/1 subinterface 0\nset / interface ethernet-1/1 subinterface 0 ipv4\n" + flat
	quoted := strings.ReplaceAll(flat, "mtu 9200", `mtu "9200"`)
	for _, text := range []string{flat, older, quoted, strings.ReplaceAll(flat, "set / ", "set /")} {
		other := drivertest.Parsed(t, Language{}, text)
		if found := (Language{}).Differences(have, other); len(found) > 0 {
			t.Errorf("%q", found)
		}
		if found := (Language{}).Commands(have, other); len(found) > 0 {
			t.Errorf("%q", found)
		}
	}
}

// TestCommands finds the way from the base to other configurations.
func TestCommands(t *testing.T) {
	t.Parallel()
	have := drivertest.Parsed(t, Language{}, base)
	for name, tc := range map[string]struct {
		replace           []string
		commands, differs []string
	}{
		"a leaf goes": {
			[]string{"set / interface ethernet-1/1 mtu 9200\n", ""},
			[]string{"delete / interface ethernet-1/1 mtu"}, []string{"- set / interface ethernet-1/1 mtu 9200"},
		},
		"another value": {
			[]string{"mtu 9200", "mtu 9000"},
			[]string{"set / interface ethernet-1/1 mtu 9000"}, []string{"- set / interface ethernet-1/1 mtu 9200", "+ set / interface ethernet-1/1 mtu 9000"},
		},
		"fewer values": {
			[]string{"[ first second ]", "[ first ]"},
			[]string{"delete / network-instance default protocols bgp group tester export-policy", "set / network-instance default protocols bgp group tester export-policy [ first ]"},
			[]string{
				"- set / network-instance default protocols bgp group tester export-policy [ first second ]",
				"+ set / network-instance default protocols bgp group tester export-policy [ first ]",
			},
		},
		"another entry of a list": {
			[]string{"198.18.1.1/24", "198.18.1.2/24"},
			[]string{"delete / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.1/24", "set / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.2/24"},
			[]string{"- set / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.1/24", "+ set / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.2/24"},
		},
		"a whole context goes": {
			[]string{flat[strings.Index(flat, "set / interface ethernet-1/1 sub"):strings.Index(flat, "set / interface ethernet-1/2")], ""},
			[]string{"delete / interface ethernet-1/1 subinterface 0"},
			[]string{"- set / interface ethernet-1/1 subinterface 0 ipv4 admin-state enable", "- set / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.1/24"},
		},
		"an entry without anything in it goes": {
			[]string{"set / interface ethernet-1/2\n", ""}, []string{"delete / interface ethernet-1/2"}, []string{"- set / interface ethernet-1/2"},
		},
		"an entry loses all that is in it": {
			[]string{"subinterface 0 ipv4 admin-state enable\nset / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.1/24", "subinterface 0"},
			[]string{"delete / interface ethernet-1/1 subinterface 0 ipv4"},
			[]string{
				"- set / interface ethernet-1/1 subinterface 0 ipv4 admin-state enable", "- set / interface ethernet-1/1 subinterface 0 ipv4 address 198.18.1.1/24",
				"+ set / interface ethernet-1/1 subinterface 0",
			},
		},
		"a certificate, which is not entered": {
			[]string{"MIIB", "MIIC"}, nil, []string{
				"- set / system tls server-profile lab certificate \"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\"",
				"+ set / system tls server-profile lab certificate \"-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\"",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := drivertest.Parsed(t, Language{}, strings.NewReplacer(tc.replace...).Replace(flat))
			got := (Language{}).Commands(have, want)
			if !slices.Equal(got, tc.commands) {
				t.Errorf("the commands are %q, want %q", got, tc.commands)
			}
			for _, command := range got {
				if (Language{}).IsRemoval(command, have) != strings.HasPrefix(command, "delete") {
					t.Errorf("%q is taken as something else", command)
				}
			}
			if found := (Language{}).Differences(have, want); !slices.Equal(found, tc.differs) {
				t.Errorf("the differences are %q, want %q", found, tc.differs)
			}
		})
	}
}

// TestNoConfiguration has texts that are none, and parts of one.
func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"interface ethernet-1/1 {\n mtu 9200\n": `the context "interface ethernet-1/1" has no closing brace`,
		"interface ethernet-1/1 {\n}\n}\n":      "line 3: a brace closes no context",
		"set /{":                                `line 1: "set /{": a line of info flat, which begins with set /, ends without a brace`,
		"set / interface ethernet-1/1 {\n}\n":   `line 1: "set / interface ethernet-1/1 {": a line of info flat`,
		"# one\n\ninterface ethernet-1/1 mtu 1": `line 3: "interface ethernet-1/1 mtu 1": want a line of info flat`,
		"community hunter2":                     `line 1: "community (hidden)"`,
		"set / interface ethernet-1/1 mtu 9200": "it has no network instance",
		"":                                      "it configures nothing",
	} {
		if _, err := configure.Whole(Language{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := configure.Whole(Language{}, base); err != nil {
		t.Error(err)
	}
}

// TestRendered reads the configuration that nodrop render writes for SR Linux.
func TestRendered(t *testing.T) {
	t.Parallel()
	c, err := configure.WholeFile(Language{}, "../../router/testdata/srlinux-whole.conf")
	if err != nil {
		t.Fatal(err)
	}
	// From a device without any of it, each line is set once.
	text, err := os.ReadFile("../../router/testdata/srlinux-whole.conf")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		lines[strings.ReplaceAll(strings.TrimSpace(line), `"`, "")] = true
	}
	commands := (Language{}).Commands("", c)
	for _, command := range commands {
		if !lines[strings.ReplaceAll(command, `"`, "")] {
			t.Errorf("%q is no line of the configuration", command)
		}
	}
	if len(commands) < 20 {
		t.Errorf("%d lines are set, want most of %d", len(commands), len(lines))
	}
}

// TestMask hides passwords, keys and communities, quoted or encrypted.
func TestMask(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`set / system aaa authentication admin-user password $y$j9T$hunter2`:                                           `set / system aaa authentication admin-user password (hidden)`,
		`set / system authentication keychain lab key 1 authentication-key "hunter2 \" and 3"`:                         `set / system authentication keychain lab key (hidden) authentication-key (hidden)`,
		`set / system snmp access-group lab security-level no-auth-no-priv community-entry ro community $aes1$hunter2`: `set / system snmp access-group lab security-level no-auth-no-priv community-entry ro community (hidden)`,
		"set / system tls server-profile lab key \"-----BEGIN PRIVATE KEY-----\nhunter2\n-----END\" tls true":          `set / system tls server-profile lab key (hidden) tls true`,
		`Parsing error: Invalid value '$aes1$hunter2=$x==' for 'community'`:                                            `Parsing error: Invalid value '(hidden)' for 'community'`,
		`set / interface ethernet-1/1 mtu 9000`:                                                                        `set / interface ethernet-1/1 mtu 9000`,
	} {
		if got := (Language{}).Mask(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// FuzzParse has any text be read, written and read again, and finds no difference between both.
func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add(flat)
	f.Add("a {\nb [ c\n\"}\n")
	f.Add("set / a \"b\nset / a b\n")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Language{}.Parse(text)
		if err != nil {
			return
		}
		again, err := Language{}.Parse(string(first))
		if err != nil || again != first {
			t.Errorf("%q is written as %q, and that as %q: %v", text, first, again, err)
		}
		if left := (Language{}).Commands(first, again); len(left) > 0 {
			t.Errorf("%q is read as %q: %q", text, first, left)
		}
	})
}
