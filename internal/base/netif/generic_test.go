package netif

import (
	"errors"
	"strings"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The kernel describes its own controller of families, by the family's name.
func TestGeneric(t *testing.T) {
	controller, err := Generic("nlctrl")
	if err != nil {
		t.Fatal(err)
	}
	replies, err := controller.Ask(unix.CTRL_CMD_GETFAMILY, nl.NewRtAttr(unix.CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated("nlctrl")))
	if err != nil || len(replies) != 1 {
		t.Fatalf("%d replies, %v", len(replies), err)
	}
	attributes, err := nl.ParseRouteAttr(replies[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.CTRL_ATTR_FAMILY_NAME {
			if name := nl.BytesToString(a.Value); name != "nlctrl" {
				t.Errorf("name %q", name)
			}
			return
		}
	}
	t.Error("the reply has no name")
}

func TestGenericRefuses(t *testing.T) {
	if _, err := Generic("moo"); !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "looking up the netlink family moo: ") {
		t.Errorf("%v", err)
	}
	controller, err := Generic("nlctrl")
	if err != nil {
		t.Fatal(err)
	}
	_, err = controller.Ask(unix.CTRL_CMD_GETFAMILY, nl.NewRtAttr(unix.CTRL_ATTR_FAMILY_NAME, nl.ZeroTerminated("moo")))
	if !errors.Is(err, unix.ENOENT) || !strings.Contains(err.Error(), "asking the netlink family nlctrl: ") {
		t.Errorf("%v", err)
	}
}
