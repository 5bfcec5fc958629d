package netconf

import "testing"

// FuzzParse reads configurations: one that is accepted is read again as it was written, and does not differ from itself.
func FuzzParse(f *testing.F) {
	f.Add(interfaces)
	f.Add(`<a xmlns="u" xmlns:x="v"><x:b>x:c</x:b><b/></a><a xmlns="u">&lt;</a>`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Language{}.Parse(text)
		if err != nil {
			return
		}
		again, err := Language{}.Parse(string(c))
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, c, err)
		}
		if left := (Language{}).Differences(c, again); len(left) > 0 {
			t.Fatalf("%q is written as %q, which is read as %q: %q", text, c, again, left)
		}
		if _, err := edit(c, again); err != nil {
			t.Fatal(err)
		}
	})
}
