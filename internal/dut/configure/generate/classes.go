package generate

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Classes describes which class of the queues of a port frames have, by their code point (RFC 2474). The queues
// themselves, with their shares of the port, are part of the device's base.
type Classes struct {
	// Name of the classification on the device.
	Name string
	// Port is the interface whose queues are meant.
	Port    string
	Classes []Class
	// Default is the queue of frames with another code point.
	Default string
}

// Class is the queue of a code point.
type Class struct {
	// DSCP is a name of a code point, such as ef, af21 or cs5. cs0 to cs7 are the IP precedences.
	DSCP string
	// Queue is the class of the queueing discipline of Linux, such as 1:10.
	Queue string
}

// codePoints are the names of code points that devices know (RFC 2474, RFC 2597, RFC 3246).
var codePoints = []string{
	"cs0", "cs1", "cs2", "cs3", "cs4", "cs5", "cs6", "cs7", "af11", "af12", "af13", "af21", "af22", "af23", "af31", "af32", "af33", "af41", "af42", "af43", "ef",
}

var queue = regexp.MustCompile(`^[0-9a-f]{1,4}:[0-9a-f]{1,4}$`)

// Check fails with the field that is wrong, and the remedy.
func (c *Classes) Check() error {
	if len(c.Classes) == 0 {
		return errors.New("class: Required value: give the queue of a code point, such as --class ef=1:10")
	}
	var seen []string
	for i, class := range c.Classes {
		field := fmt.Sprintf("class[%d]", i)
		switch {
		case !slices.Contains(codePoints, class.DSCP):
			return fmt.Errorf("%s: Unsupported value: %q: want %s", field, class.DSCP, strings.Join(codePoints, ", "))
		case slices.Contains(seen, class.DSCP):
			return fmt.Errorf("%s: Duplicate value: %q", field, class.DSCP)
		case !queue.MatchString(class.Queue):
			return fmt.Errorf("%s: Invalid value: %q: want the class of a queueing discipline, such as 1:10", field, class.Queue)
		}
		seen = append(seen, class.DSCP)
	}
	if !queue.MatchString(c.Default) {
		return fmt.Errorf("default: Invalid value: %q: want the class of a queueing discipline, such as 1:30", c.Default)
	}
	return errors.Join(name("name", c.Name), name("port", c.Port))
}

// Write returns the classification in the words of a dialect.
func (c *Classes) Write(d Dialect) (string, error) { return write("classes", d, c) }
