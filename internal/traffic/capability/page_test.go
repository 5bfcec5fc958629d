package capability

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The table of cards in docs/own-cluster.md has the numbers of this one.
func TestPageOfCards(t *testing.T) {
	text, err := os.ReadFile("../../../docs/own-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| ((?:`net_[a-z0-9_]+`(?:, )?)+) \\| [^|]+ \\| ([^|]+) \\|")
	found := row.FindAllStringSubmatch(string(text), -1)
	if len(found) < 6 {
		t.Fatalf("%d rows of cards, want at least 6", len(found))
	}
	for _, cells := range found {
		for _, driver := range strings.Split(strings.ReplaceAll(cells[1], "`", ""), ", ") {
			said := 0
			if cells[2] != "none" {
				if said, err = strconv.Atoi(strings.ReplaceAll(cells[2], ",", "")); err != nil {
					t.Error(err)
				}
			}
			if nic, known := NICOf(driver); !known || nic.Counters != said {
				t.Errorf("%s counts %d streams on the page, and %d in the table", driver, said, nic.Counters)
			}
		}
	}
}
