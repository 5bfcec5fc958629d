package linux

import (
	"strings"
	"testing"
)

// FuzzParse reads what a device prints: nothing that it sends crashes the reader.
func FuzzParse(f *testing.F) {
	f.Add(strings.Join([]string{
		"12.5 20.1\ncpu0 1 2 3 4 5 6 7 8 9 10\nMemTotal: 100 kB\nMemAvailable: 50 kB\n lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n e1: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n", `[{"kind":"htb","dev":"e1","root":true,"drops":3}]`,
		"table inet lab {\n\tchain input {\n\t\tudp dport 7 counter packets 11 bytes 100 drop\n\t}\n}\n", "bridge br0\n", "coretemp temp1_input 36400\n",
		`[{"ifname":"e1","mpls_stats":{"rx":{"errors":1,"dropped":2,"noroute":3},"tx":{"errors":4,"dropped":5}}}]`,
	}, end+"\n"))
	f.Add("12.5 20.1\n" + strings.Repeat(end+"\n", factsParts-1))
	f.Fuzz(func(t *testing.T, text string) {
		r := &Reader{}
		for range 2 { // The load of processors is that since the last reading.
			if reading, err := r.parse(text); err == nil {
				for name, s := range reading.Sensors {
					if strings.HasPrefix(name, "processor ") && (s.Value < 0 || s.Value > 100) {
						t.Errorf("%s has %v %%", name, s.Value)
					}
				}
			}
		}
		_, _ = parseFacts(text)
	})
}
