package netconf

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/drivertest"
)

const interfaces = `<data xmlns="urn:ietf:params:xml:ns:netconf:base:1.0">
<interfaces xmlns="urn:ietf:params:xml:ns:yang:ietf-interfaces" xmlns:t="urn:ietf:params:xml:ns:yang:iana-if-type">
  <interface><name>e0</name><type>t:ethernetCsmacd</type><mtu>1500</mtu></interface>
  <interface><name>e1</name><type>t:ethernetCsmacd</type><mtu>9000</mtu></interface>
</interfaces>
<system xmlns="urn:ietf:params:xml:ns:yang:ietf-system">
  <contact>lab &amp; co</contact>
  <user><name>lab</name><password>$0$clear</password></user>
</system></data>`

// TestDifferences describes an element that is missing, new, changed, or in another place, without secrets.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replace []string
		want    []string
	}{
		"nothing":        {nil, nil},
		"spaces":         {[]string{"\n", "\n\n "}, nil},
		"comments":       {[]string{"<contact>", "<!-- who --><contact>"}, nil},
		"another prefix": {[]string{"xmlns:t=", "xmlns:u=", "t:ether", "u:ether"}, nil},
		"another type": {
			[]string{"iana-if-type", "if-type", "e1</name><type>t", "e1</name><type>x", "interfaces\" xmlns", "interfaces\" xmlns:x=\"urn:ietf:params:xml:ns:yang:iana-if-type\" xmlns"},
			[]string{"- interfaces/interface[name=e0]/type = t:ethernetCsmacd", "+ interfaces/interface[name=e0]/type = t:ethernetCsmacd"},
		},
		"a changed element": {[]string{"<mtu>1500<", "<mtu>1400<"}, []string{"- interfaces/interface[name=e0]/mtu = 1500", "+ interfaces/interface[name=e0]/mtu = 1400"}},
		"a missing element": {[]string{"<mtu>1500</mtu>", ""}, []string{"- interfaces/interface[name=e0]/mtu = 1500"}},
		"another name":      {[]string{">e1<", ">e2<"}, []string{"- interfaces/interface[name=e1]", "+ interfaces/interface[name=e2]"}},
		"another place": {
			[]string{">e0<", ">x<", ">e1<", ">e0<", ">x<", ">e1<", "1500", "0", "9000", "1500", ">0<", ">9000<"},
			[]string{"- interfaces/interface[name=e0] (in this place)", "+ interfaces/interface[name=e1] (in this place)"},
		},
		"another namespace": {
			[]string{"yang:ietf-system", "yang:system"},
			[]string{"- system[contact=lab & co]", "+ system[contact=lab & co]"},
		},
		"a secret": {[]string{"$0$clear", "$0$other"}, []string{"- system[contact=lab & co]/user[name=lab]/password = (hidden)", "+ system[contact=lab & co]/user[name=lab]/password = (hidden)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := interfaces
			for i := 0; i < len(tc.replace); i += 2 {
				text = strings.ReplaceAll(text, tc.replace[i], tc.replace[i+1])
			}
			if got := (Language{}).Differences(drivertest.Parsed(t, Language{}, interfaces), drivertest.Parsed(t, Language{}, text)); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestParse writes a configuration in one form, which it reads again, and refuses what is none.
func TestParse(t *testing.T) {
	t.Parallel()
	c := drivertest.Parsed(t, Language{}, interfaces)
	if again := drivertest.Parsed(t, Language{}, string(c)); again != c {
		t.Errorf("%s\nis read as\n%s", c, again)
	}
	if want := `<type xmlns:t="urn:ietf:params:xml:ns:yang:iana-if-type">`; strings.Count(string(c), want) != 2 {
		t.Errorf("%s: want %s, wherever the prefix was declared", c, want)
	}
	for text, want := range map[string]string{
		"interface e0":         "it has text outside of elements",
		"<a xmlns='u'><b></a>": "it is no XML",
		"<a/>":                 "element a has no namespace",
		"<a xmlns='u'>":        "it is no XML",
	} {
		if _, err := (Language{}).Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestMask hides the text of elements that have secrets.
func TestMask(t *testing.T) {
	t.Parallel()
	got := Language{}.Mask(`bad <x:password a="b">a&amp;b</x:password><snmp-community>c</snmp-community><name>d</name>`)
	if want := `bad <x:password a="b">(hidden)</x:password><snmp-community>(hidden)</snmp-community><name>d</name>`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestEdit removes what is not wanted, also entries of a list at the top.
func TestEdit(t *testing.T) {
	t.Parallel()
	list := func(names ...string) (text string) {
		for _, n := range names {
			text += "<vlan xmlns='u'><id>" + n + "</id><name>" + n + "</name></vlan>"
		}
		return text
	}
	for name, tc := range map[string]struct{ have, want string }{
		"an entry of a list": {list("1", "2", "3"), list("1", "3")},
		"a whole list":       {list("1", "2"), "<other xmlns='u'/>"},
		"a container":        {"<system xmlns='u'><contact>a</contact></system>", list("1")},
	} {
		text, err := edit(drivertest.Parsed(t, Language{}, tc.have), drivertest.Parsed(t, Language{}, tc.want))
		if err != nil {
			t.Fatal(err)
		}
		removed, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, line := range strings.Split(text, "\n") {
			if strings.Contains(line, `"remove"`) {
				lines = append(lines, line)
			}
		}
		if want := map[string]int{"an entry of a list": 1, "a whole list": 2, "a container": 1}[name]; len(lines) != want {
			t.Errorf("%s: %d of %d elements are removed, want %d:\n%s", name, len(lines), len(removed), want, text)
		}
	}
	if text, _ := edit(drivertest.Parsed(t, Language{}, list("1", "2")), drivertest.Parsed(t, Language{}, list("1", "3"))); !strings.Contains(text, "<id>2</id>") {
		t.Errorf("the entry that is removed is not named: %s", text)
	}
}
