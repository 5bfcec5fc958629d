// Package human writes values for people.
package human

import (
	"strings"
	"time"
)

// Duration writes a duration without parts at its end that are zero: "36h" and "1h30m", not
// "36h0m0s".
func Duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
