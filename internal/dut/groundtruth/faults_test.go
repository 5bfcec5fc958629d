package groundtruth

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/truth/truthtest"
)

// event passes on what the run asks for.
func (m *measurement) event(e trials.Event) {
	if e.Ask != "" {
		select {
		case m.asked <- e.Ask:
		default: // The pair does not wait for it.
		}
	}
}

// silence makes the device drop everything for a time once the run asks for a reset, and returns the
// least and the longest time for which it did.
func (m *measurement) silence(ctx context.Context, down time.Duration) (least, most time.Duration) {
	for _, line := range []string{"nft add table netdev silence", "nft add chain netdev silence in { type filter hook ingress device p1 priority 0 ; }"} {
		if err := m.command(ctx, m.device, line); err != nil {
			m.Error(err)
			return 0, 0
		}
	}
	select {
	case <-m.asked:
	case <-ctx.Done():
		return 0, 0
	}
	begin := time.Now()
	err := m.command(ctx, m.device, "nft add rule netdev silence in meta l4proto udp drop")
	begun := time.Now()
	time.Sleep(down) // the time that is measured
	end := time.Now()
	if err == nil {
		err = m.command(ctx, m.device, "nft flush chain netdev silence in")
	}
	if err != nil {
		m.Error(err)
		return 0, 0
	}
	return end.Sub(begun), time.Since(begin)
}

// limitAddresses bounds the number of addresses that the bridge learns (Linux 6.7).
func (m *measurement) limitAddresses(most uint32) {
	m.Helper()
	const fdbMaxLearned = 49 // IFLA_BR_FDB_MAX_LEARNED
	err := netif.In(m.device, func() error {
		bridge, err := netlink.LinkByName("br0")
		if err != nil {
			return err
		}
		message := nl.NewIfInfomsg(unix.AF_UNSPEC)
		message.Index = int32(bridge.Attrs().Index)
		info := nl.NewRtAttr(unix.IFLA_LINKINFO, nil)
		info.AddRtAttr(nl.IFLA_INFO_KIND, nl.NonZeroTerminated(bridge.Type()))
		info.AddRtAttr(nl.IFLA_INFO_DATA, nil).AddRtAttr(fdbMaxLearned, nl.Uint32Attr(most))
		request := nl.NewNetlinkRequest(unix.RTM_NEWLINK, unix.NLM_F_ACK)
		request.AddData(message)
		request.AddData(info)
		_, err = request.Execute(unix.NETLINK_ROUTE, 0)
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
}

// faulty gives some testers a fault, which their rows must report if it matters.
func (r draw) faulty(p *pair) {
	if p.during != nil {
		return
	}
	every, lasts := time.Duration(r.between(3e8, 3e9)), time.Duration(r.between(5e6, 3e8))
	switch r.IntN(4) {
	case 0:
		p.fault = fmt.Sprintf("others use the tester's processors for %v every %v", lasts, every)
		p.during = func(ctx context.Context, m *measurement) { truthtest.Disturb(ctx, every, lasts, m.processors...) }
	case 1:
		port := fmt.Sprintf("p%d", 1+r.IntN(int(p.device.Ports)))
		p.fault = fmt.Sprintf("the link of %s is down for %v every %v", port, lasts, every)
		p.during = func(ctx context.Context, m *measurement) {
			truthtest.Again(ctx, every, func() {
				_ = m.command(context.WithoutCancel(ctx), m.tester, "ip link set "+port+" down")
				time.Sleep(lasts) // the fault
				_ = m.command(context.WithoutCancel(ctx), m.tester, "ip link set "+port+" up")
			})
		}
	}
}
