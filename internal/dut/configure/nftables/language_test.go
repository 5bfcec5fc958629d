package nftables

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
)

const rules = `flush ruleset
table inet lab {
	set hosts {
		type ipv4_addr
		elements = { 198.18.0.1, 198.18.0.2,
			     198.18.0.3 }
	}

	# A comment.
	chain forward {
		type filter hook forward priority filter; policy accept;
		ip saddr @hosts drop
		ip saddr 198.18.1.0/24 drop
		tcp dport { 22, 23 } accept
	}
}
`

// TestDifferences describes a rule that is missing, new, changed, or in another place.
func TestDifferences(t *testing.T) {
	t.Parallel()
	const chain = "table inet lab > chain forward > "
	for name, tc := range map[string]struct {
		replace []string
		want    []string
	}{
		"nothing":            {nil, nil},
		"comments and lines": {[]string{"\n	# A comment.\n", "\n"}, nil},
		"a missing rule":     {[]string{"		ip saddr @hosts drop\n", ""}, []string{"- " + chain + "ip saddr @hosts drop"}},
		"a rule twice": {
			[]string{"		ip saddr @hosts drop\n", "		ip saddr @hosts drop\n		ip saddr @hosts drop\n"}, []string{"+ " + chain + "ip saddr @hosts drop"},
		},
		"another place": {
			[]string{"		ip saddr @hosts drop\n		ip saddr 198.18.1.0/24 drop\n", "		ip saddr 198.18.1.0/24 drop\n		ip saddr @hosts drop\n"},
			[]string{"- " + chain + "ip saddr @hosts drop (in this place)", "+ " + chain + "ip saddr 198.18.1.0/24 drop (in this place)"},
		},
		"an element": {
			[]string{"198.18.0.3 }", "198.18.0.4 }"},
			[]string{"- table inet lab > set hosts > elements = { 198.18.0.1, 198.18.0.2, 198.18.0.3 }", "+ table inet lab > set hosts > elements = { 198.18.0.1, 198.18.0.2, 198.18.0.4 }"},
		},
		"a policy": {
			[]string{"policy accept", "policy drop"},
			[]string{"- " + chain + "type filter hook forward priority filter; policy accept;", "+ " + chain + "type filter hook forward priority filter; policy drop;"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, err := Language{}.Parse(rules)
			if err != nil {
				t.Fatal(err)
			}
			to, err := Language{}.Parse(strings.NewReplacer(tc.replace...).Replace(rules))
			if err != nil {
				t.Fatal(err)
			}
			if got := (Language{}).Differences(from, to); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if commands := (Language{}).Commands(from, to); (len(commands) == 0) != (len(tc.want) == 0) {
				t.Errorf("the commands are %q", commands)
			}
		})
	}
}

// TestParse refuses texts that are no whole configuration.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		rules:               "",
		"flush ruleset\n":   "",
		"":                  "it configures nothing",
		"# nothing\n":       "it configures nothing",
		rules[14:]:          `the first line is "table inet lab {": want "flush ruleset"`,
		rules + "}\n":       "the braces are not balanced",
		rules + "}\n# {\n":  "the braces are not balanced",
		rules + "# }\n":     "",
		"hostname leaf-1\n": `the first line is "hostname leaf-1"`,
	} {
		_, err := configure.Whole(Language{}, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse has any text be read, written and read again, and finds no difference between both.
func FuzzParse(f *testing.F) {
	f.Add(rules)
	f.Add("flush ruleset\n}\n{\na {\n")
	f.Fuzz(func(t *testing.T, text string) {
		first, err := Language{}.Parse(text)
		if err != nil {
			return
		}
		again, err := Language{}.Parse(string(first))
		if err != nil && first != "" || first != again || len(Language{}.Differences(first, again)) > 0 {
			t.Errorf("%q is read as %q, and that as %q: %v", text, first, again, err)
		}
	})
}
