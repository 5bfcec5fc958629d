package card

import (
	"slices"
	"strings"
	"testing"

	"github.com/safchain/ethtool"
)

// TestRecordSurvivesItsAlias checks that what a record says is read back from the alias of
// the interface.
func TestRecordSurvivesItsAlias(t *testing.T) {
	halves := slices.Concat(single(64, 0), single(64, 1))
	for name, c := range map[string]struct {
		record record
		alias  string
	}{
		"nothing":         {record{}, ""},
		"alias":           {record{alias: "uplink to rack 4"}, "uplink to rack 4"},
		"pause":           {record{pause: &ethtool.Pause{Autoneg: 1, TxPause: 1}}, mark + " pause=on/off/on"},
		"the kernel's":    {record{spread: even(512, 12)}, mark + " rss=even:512:12"},
		"halves of igb":   {record{spread: halves}, mark + " rss=0*64,1*64"},
		"all and its own": {record{pause: &ethtool.Pause{}, spread: halves, features: map[string]bool{"rx-lro": true, "a": false}, alias: "x=y z"}, mark + " pause=off/off/off rss=0*64,1*64 a=off rx-lro=on alias=x=y z"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.record.write(); got != c.alias {
				t.Errorf("the record is %q, want %q", got, c.alias)
			}
			back, err := parseRecord(c.alias)
			if err != nil {
				t.Fatal(err)
			}
			if got := back.write(); got != c.alias {
				t.Errorf("read back, the record is %q, want %q", got, c.alias)
			}
			if !slices.Equal(back.spread, c.record.spread) || back.alias != c.record.alias {
				t.Errorf("read back, the record is %+v, want %+v", back, c.record)
			}
		})
	}
}

// TestDamagedRecordIsRefused checks that an alias which is no whole record changes nothing.
func TestDamagedRecordIsRefused(t *testing.T) {
	for _, text := range []string{"pause=on", "pause=on/off/maybe", "rss=", "rss=even:4:0", "rss=0*x", "rss=0*65535,0*65535", "rx-lro"} {
		if r, err := parseRecord(mark + " " + text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		} else if !strings.Contains(err.Error(), mark) {
			t.Errorf("the error %q does not name the alias", err)
		}
	}
}

// TestQueueOfSpread checks which tables have one queue.
func TestQueueOfSpread(t *testing.T) {
	for name, c := range map[string]struct {
		table Spread
		queue uint32
		one   bool
	}{
		"no table":   {nil, 0, false},
		"one queue":  {single(128, 3), 3, true},
		"two queues": {even(128, 2), 0, false},
	} {
		if queue, one := c.table.Queue(); queue != c.queue || one != c.one {
			t.Errorf("%s: queue %d, only one %t; want %d, %t", name, queue, one, c.queue, c.one)
		}
	}
}
