package routing

import (
	"net/netip"
	"testing"
)

func TestPrefixesOfASet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first  string
		stride uint32
		i      uint32
		want   string
	}{
		{"198.18.0.0/24", 0, 0, "198.18.0.0/24"},
		{"198.18.0.0/24", 0, 257, "198.19.1.0/24"},
		{"198.18.0.0/32", 4, 3, "198.18.0.12/32"},
		{"10.0.0.0/8", 1, 245, "255.0.0.0/8"},
		{"10.0.0.0/8", 1, 246, "invalid Prefix"},
		{"2001:2::/48", 0, 1, "2001:2:1::/48"},
		{"2001:2::/64", 2, 1 << 16, "2001:2:2::/64"},
		{"2001:2::/128", 1, 4294967295, "2001:2::ffff:ffff/128"},
		{"2001:2::ffff:ffff:ffff:ffff/128", 1, 1, "2001:2:0:1::/128"},
		{"::/0", 1, 0, "::/0"},
		{"::/0", 1, 1, "invalid Prefix"},
		{"ffff::/16", 1, 1, "invalid Prefix"},
	} {
		set := Routes{First: netip.MustParsePrefix(c.first), Stride: c.stride, Count: 4294967295}
		if c.i == 4294967295 {
			set.Count = c.i
			c.i--
			c.want = "2001:2::ffff:fffe/128"
		}
		got := set.Prefix(c.i)
		if got.String() != c.want {
			t.Errorf("prefix %d of %s with stride %d: %v, want %s", c.i, c.first, c.stride, got, c.want)
			continue
		}
		if i, ok := set.Index(got); got.IsValid() && (!ok || i != c.i) {
			t.Errorf("index of %v in %s: %d %v, want %d", got, c.first, i, ok, c.i)
		}
	}
}

func TestWhatIsNotInASet(t *testing.T) {
	t.Parallel()
	set := Routes{First: netip.MustParsePrefix("198.18.16.0/24"), Stride: 2, Count: 4}
	for _, p := range []string{"198.18.15.0/24", "198.18.17.0/24", "198.18.24.0/24", "198.18.16.0/25", "2001:2::/24", "198.18.0.0/24"} {
		if i, ok := set.Index(netip.MustParsePrefix(p)); ok {
			t.Errorf("%s is said to be number %d", p, i)
		}
	}
}

func TestCheckNamesTheField(t *testing.T) {
	t.Parallel()
	for want, set := range map[string]Routes{
		"routes a: first: invalid Prefix is no prefix, for example 198.18.128.0/24":        {Count: 1},
		"routes a: first: 198.18.0.1/24 has bits after its length; 198.18.0.0/24 has not":  {First: netip.MustParsePrefix("198.18.0.1/24"), Count: 1},
		"routes a: count: 0, must be at least 1":                                           {First: netip.MustParsePrefix("198.18.0.0/24")},
		"routes a: count: 70000000 prefixes from 198.18.0.0/24 go beyond the last address": {First: netip.MustParsePrefix("198.18.0.0/24"), Count: 70000000},
		"routes a: label: 1000000 labels from 100000 go beyond 1048575, the last one":      {First: netip.MustParsePrefix("16.0.0.0/24"), Count: 1000000, Attributes: Attributes{Label: 100000}},
	} {
		set.Name = "a"
		if err := set.Check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
