package gnmi

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/drivertest"
)

const device = `{"openconfig-interfaces:interfaces": {"interface": [
  {"name": "e1", "config": {"name": "e1", "mtu": 1500}, "state": {"name": "e1", "oper-status": "UP"}},
  {"name": "e2", "config": {"name": "e2", "mtu": 1500}}]},
 "openconfig-system:system": {"state": {"boot-time": "1"}, "aaa": {"config": {"secret-key": "hunter2"}}},
 "acme:policies": {"policy": [{"id": 1, "action": "permit"}, {"id": 2, "action": "deny"}], "order": ["a", "b"], "session": {"state": "established"}}}`

// TestParse leaves out what is no configuration, and reads what it prints.
func TestParse(t *testing.T) {
	t.Parallel()
	c := drivertest.Parsed(t, Language{}, device)
	for _, state := range []string{"oper-status", "boot-time", `"state": {`} {
		if strings.Contains(string(c), state) {
			t.Errorf("%q is in the configuration: %s", state, c)
		}
	}
	if !strings.Contains(string(c), `"state": "established"`) {
		t.Errorf("a leaf of another module is missing: %s", c)
	}
	if other := drivertest.Parsed(t, Language{}, `{"acme:policies": {"state": {"limit": 5}}}`); !strings.Contains(string(other), "limit") {
		t.Errorf("a container of another module is missing: %s", other)
	}
	if again := drivertest.Parsed(t, Language{}, string(c)); again != c {
		t.Errorf("it is another one when it is read again: %s", again)
	}
	if empty := drivertest.Parsed(t, Language{}, `{"openconfig-system:system": {"state": {"boot-time": "1"}}}`); empty != "" {
		t.Errorf("%q, want that it configures nothing", empty)
	}
	for text, want := range map[string]string{
		"interface e1":                     "no object of JSON",
		"[]":                               "no object of JSON",
		"{} {}":                            "behind the object",
		`{"a:system": 1}`:                  "a:system is no object",
		`{"a:x": {"b":1}, "c:x": {"b":1}}`: "a:x and c:x have one name",
	} {
		if _, err := (Language{}).Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestDifferences names what differs by its path, without secrets.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to string
		want     []string
	}{
		"another value":       {`"mtu": 1500}, "state"`, `"mtu": 9000}, "state"`, []string{"- /openconfig-interfaces:interfaces/interface[name=e1]/config/mtu = 1500", "+ /openconfig-interfaces:interfaces/interface[name=e1]/config/mtu = 9000"}},
		"only state":          {`"UP"`, `"DOWN"`, nil},
		"another secret":      {"hunter2", "hunter3", []string{"- /openconfig-system:system/aaa/config/secret-key = (hidden)", "+ /openconfig-system:system/aaa/config/secret-key = (hidden)"}},
		"an entry less":       {`, {"id": 2, "action": "deny"}`, ``, []string{"- /acme:policies/policy[id=2]/action = deny", "- /acme:policies/policy[id=2]/id = 2"}},
		"another key":         {`{"id": 2,`, `{"id": 3,`, []string{"- /acme:policies/policy[id=2]/action = deny", "- /acme:policies/policy[id=2]/id = 2", "+ /acme:policies/policy[id=3]/action = deny", "+ /acme:policies/policy[id=3]/id = 3"}},
		"another order":       {`{"id": 1, "action": "permit"}, {"id": 2, "action": "deny"}`, `{"id": 2, "action": "deny"}, {"id": 1, "action": "permit"}`, []string{"- /acme:policies/policy[id=1] (in this place)", "+ /acme:policies/policy[id=2] (in this place)"}},
		"another value order": {`["a", "b"]`, `["b", "a"]`, []string{"- /acme:policies/order = [a b]", "+ /acme:policies/order = [b a]"}},
		"a list in place":     {`["a", "b"]`, `{"a": "b"}`, []string{"- /acme:policies/order = [a b]", "+ /acme:policies/order = map[a:b]"}},
		"no container":        {`"acme:policies": {"policy": [{"id": 1, "action": "permit"}, {"id": 2, "action": "deny"}], "order": ["a", "b"], "session": {"state": "established"}}`, `"x:y": {}`, []string{"- /acme:policies/order = [a b]", "- /acme:policies/policy[id=1]/action = permit", "- /acme:policies/policy[id=1]/id = 1", "- /acme:policies/policy[id=2]/action = deny", "- /acme:policies/policy[id=2]/id = 2", "- /acme:policies/session/state = established"}},
	} {
		if !strings.Contains(device, test.from) {
			t.Fatalf("%s: the device has no %q", name, test.from)
		}
		other := strings.Replace(device, test.from, test.to, 1)
		if got := (Language{}).Differences(drivertest.Parsed(t, Language{}, device), drivertest.Parsed(t, Language{}, other)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		commands := strings.Join(Language{}.Commands(drivertest.Parsed(t, Language{}, device), drivertest.Parsed(t, Language{}, other)), "\n")
		if (commands == "") != (test.want == nil) {
			t.Errorf("%s: commands %q", name, commands)
		}
		if masked := (Language{}).Mask(commands); strings.Contains(masked, "hunter") {
			t.Errorf("%s: a secret is in %q", name, masked)
		}
	}
}

// TestHideSecrets hides the secrets of a change in what a device says to it.
func TestHideSecrets(t *testing.T) {
	t.Parallel()
	c, err := between("", drivertest.Parsed(t, Language{}, device))
	if err != nil {
		t.Fatal(err)
	}
	if got := hideSecrets(`value hunter2 of e1 is too weak, in {"password":"x y", "mtu":9}`, c); got != `value (hidden) of e1 is too weak, in {"password":"(hidden)", "mtu":9}` {
		t.Error(got)
	}
}

// FuzzParse reads what a device may send.
func FuzzParse(f *testing.F) {
	f.Add(device)
	f.Add(`{"a:b": {"c": [{"name": 1}, 2, [3]], "state": {"d": null}, "e": []}}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Language{}.Parse(text)
		if err != nil {
			return
		}
		again, err := Language{}.Parse(string(c))
		if err != nil || again != c {
			t.Errorf("%q is %q when it is read again: %v", c, again, err)
		}
		if d := (Language{}).Differences(c, again); len(d) > 0 {
			t.Errorf("it differs from itself: %q", d)
		}
		if commands := (Language{}).Commands("", c); (len(commands) == 0) != (c == "") {
			t.Errorf("commands %q for %q", commands, c)
		}
	})
}
