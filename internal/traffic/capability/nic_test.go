package capability

import (
	"regexp"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func TestNICOf(t *testing.T) {
	for driver, want := range map[string]struct {
		counters int
		models   string
		drawback string
	}{
		"net_ice":          {127, "E810", "timed frames, and those counted per stream, did not come back"},
		"net_ice_dcf":      {127, "E810", "counters of the port ran backwards"},
		"net_mlx5":         {127, "ConnectX", "counters of the port were wrong in v3.04"},
		"net_i40e":         {127, "XXV710", "with firmware 9.5 timed frames arrive as errors"},
		"net_i40e_vf":      {1023, "virtual functions", "with processors"},
		"net_iavf":         {1023, "virtual functions", "with processors"},
		"net_ixgbe":        {127, "82599", "takes the link for slower than it is"},
		"net_ixgbe_vf":     {1023, "virtual functions", "with processors"},
		"net_e1000_igb":    {255, "I350", ""},
		"net_e1000_igb_vf": {0, "virtual functions", "no driver"},
		"net_bnxt":         {0, "Broadcom", "no counters per stream"},
		"net_af_packet":    {1023, "any interface", "every link for one of 10 Gbit/s"},
		"net_af_packet0":   {1023, "any interface", "packet socket"},
	} {
		nic, known := NICOf(driver)
		var all []string
		for _, d := range nic.Drawbacks {
			all = append(all, d.String())
		}
		if !known || nic.Counters != want.counters || !strings.Contains(nic.Models, want.models) || !strings.Contains(strings.Join(all, "\n"), want.drawback) {
			t.Errorf("%s: %+v, want %+v", driver, nic, want)
		}
	}
	for _, driver := range []string{"", "mlx5_pci", "net_tap"} {
		if nic, known := NICOf(driver); known {
			t.Errorf("%q: %+v", driver, nic)
		}
	}
}

// Every drawback has its source, in a form that can be looked up.
func TestDrawbacksHaveSources(t *testing.T) {
	source := regexp.MustCompile(`^([A-Za-z]+[A-Za-z-]*/[a-z-]+#\d+|TRex stateless manual, |seen with TRex v3\.08 on veth pairs$|get_rx_stat_capabilities in |register_driver in )`)
	seen := map[string]bool{}
	for _, n := range nics {
		if seen[n.Driver] || n.Models == "" || n.Counters == 0 && len(n.Drawbacks) == 0 {
			t.Errorf("%s: twice, without models, or without counters and a word about it", n.Driver)
		}
		seen[n.Driver] = true
		for _, d := range n.Drawbacks {
			if !source.MatchString(d.Source) || d.Text == "" {
				t.Errorf("%s: %q has the source %q", n.Driver, d.Text, d.Source)
			}
		}
	}
	if got, want := nics[0].Drawbacks[0].String(), "(cisco-system-traffic-generator/trex-core#932, #882, FDio/csit#3996; said to be fixed in TRex v3.07, which does not test it)"; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
}

func TestFor(t *testing.T) {
	software := v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{Software: &v1alpha1.TRexSoftware{}}}
	cards := v1alpha1.Engine{Kind: v1alpha1.EngineTRex, TRex: &v1alpha1.TRexEngine{HugePages: &v1alpha1.TRexHugePages{}}}
	for name, tc := range map[string]struct {
		engine         v1alpha1.Engine
		streams, timed int
	}{
		"packet sockets": {software, 1023, 128},
		"every card":     {cards, 127, 128},
		"another engine": {v1alpha1.Engine{Kind: v1alpha1.EngineXDP}, 65536, 0},
	} {
		c, ok := For(tc.engine)
		if !ok || c.MaxStreams != tc.streams || c.TimedStreams != tc.timed {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, ok := For(v1alpha1.Engine{Kind: "abacus"}); ok {
		t.Error("an engine that does not exist has capabilities")
	}
	// What is true of all engines but TRex is not forgotten when one is added.
	for kind, c := range byKind {
		if !c.CrossHost {
			t.Errorf("%s counts no frames of other hosts", kind)
		}
		if whole := c.Ordering && c.ArrivalTimes && c.Gaps && c.Ethernet && c.Multicast && c.MPLS; whole == (kind == "trex") {
			t.Errorf("%s: %+v", kind, c)
		}
	}
}
