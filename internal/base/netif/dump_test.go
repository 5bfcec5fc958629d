package netif

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// TestWholeReadsAgain reads a list again that changed, and gives up on one that always does.
func TestWholeReadsAgain(t *testing.T) {
	other := errors.New("no such device")
	for name, tc := range map[string]struct {
		interrupted int
		err         error
		reads       int
	}{
		"at once":        {0, nil, 1},
		"after two":      {2, nil, 3},
		"another error":  {1, other, 2},
		"always changes": {1000, netlink.ErrDumpInterrupted, readings},
	} {
		reads := 0
		got, err := Whole(func() ([]int, error) {
			reads++
			if reads <= tc.interrupted {
				return []int{0}, fmt.Errorf("listing: %w", netlink.ErrDumpInterrupted)
			}
			return []int{reads}, tc.err
		})
		if !errors.Is(err, tc.err) || reads != tc.reads || tc.err == nil && got[0] != reads {
			t.Errorf("%s: %v, %v after %d readings", name, got, err, reads)
		}
	}
}

// TestWholeWhileInterfacesChange lists interfaces while some come and go, until a plain list was interrupted many times.
func TestWholeWhileInterfacesChange(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may make network namespaces")
	}
	var ns netns.NsHandle
	if err := In(netns.None(), func() (err error) {
		ns, err = netns.New()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for i := range 100 {
		if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprint("b", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		changes, err := netlink.NewHandleAt(ns)
		if err != nil {
			t.Error(err)
			return
		}
		defer changes.Close()
		for {
			select {
			case <-stop:
				return
			default:
			}
			extra := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "extra"}}
			if err := changes.LinkAdd(extra); err != nil {
				t.Error(err)
				return
			}
			if err := changes.LinkDel(extra); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer func() {
		close(stop)
		<-ended
	}()
	interrupted := 0
	for deadline := time.Now().Add(time.Minute); interrupted < 5; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d lists were interrupted in a minute", interrupted)
		}
		if _, err := h.LinkList(); errors.Is(err, netlink.ErrDumpInterrupted) {
			interrupted++
		}
		all, err := Whole(h.LinkList)
		if err != nil || len(all) != 101 && len(all) != 102 { // With lo, and with the one that comes and goes.
			t.Fatalf("%d interfaces, %v", len(all), err)
		}
	}
}
