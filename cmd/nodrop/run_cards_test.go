package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/base/exit"
)

// cardsVariable names the two ends of a cable between network cards, such as "eth0,eth1".
// Their tests run in the emulated machines of hack/vm.
const cardsVariable = "NODROP_TEST_CARDS"

// cardNames returns the names of the cards, or skips the test.
func cardNames(t *testing.T) []string {
	t.Helper()
	names := strings.Split(os.Getenv(cardsVariable), ",")
	if len(names) != 2 {
		t.Skipf("skipped: %s does not name two network cards on one cable, see hack/vm", cardsVariable)
	}
	return names
}

// TestCardsAreBackAfterTenKills kills ten runs on network cards, moved and in place in turn
// and the last four in a VLAN, and compares everything that ip and ethtool show of the cards with what they had before.
func TestCardsAreBackAfterTenKills(t *testing.T) {
	names := cardNames(t)
	if _, err := exec.LookPath("ethtool"); err != nil {
		t.Fatalf("the settings are compared by ethtool: %v", err)
	}
	m := &machine{t: t, state: filepath.Join(t.TempDir(), "state")}
	for i, name := range names {
		link := m.link(name)
		address, err := netlink.ParseAddr(fmt.Sprintf("198.18.9.%d/24", i+1))
		m.must(err)
		m.must(netlink.AddrReplace(link, address))
		m.must(netlink.LinkSetMTU(link, 1450))
		m.must(netlink.LinkSetAlias(link, "cable "+name))
		m.must(netlink.LinkSetUp(link))
		// Settings that the driver does not have are left as they are.
		for _, args := range [][]string{{"-G", name, "rx", "512"}, {"-C", name, "rx-usecs", "20"}, {"-K", name, "gro", "off"}} {
			if out, err := exec.Command("ethtool", args...).CombinedOutput(); err != nil {
				t.Logf("ethtool %s: %s", strings.Join(args, " "), out)
			}
		}
	}
	m.must(netlink.SetPromiscOn(m.link(names[0])))
	m.eventually("the links", func() bool { return m.running(names[0]) && m.running(names[1]) })
	before := settingsOf(m, names)
	bed := strings.NewReplacer("nd-p1", names[0], "nd-p2", names[1]).Replace(physicalBed)
	tagged := strings.ReplaceAll(bed, `/64"]}`, `/64"], vlan: {id: 100}}`)
	if driver, err := os.Readlink("/sys/class/net/" + names[0] + "/device/driver"); err != nil || filepath.Base(driver) == "igbvf" {
		tagged = bed // it cannot be in a VLAN
	} else if tagged == bed {
		t.Fatal("the ports are not in a VLAN")
	}
	for i := range 10 {
		if i == 6 {
			bed = tagged
		}
		flags := [][]string{nil, {"--in-place"}}[i%2]
		p := m.run(longBenchmark, bed, flags...)
		awaitTrial(t, p)
		if i < 2 || i == 7 {
			t.Logf("while run %d has the cards (%v):\n%s", i, flags, difference(before, settingsOf(m, names)))
		}
		m.must(p.cmd.Process.Kill())
		p.exit()
	}
	clean := start(t, "clean", "--state-dir", m.state)
	clean.wants(exit.Passed, "", "")
	t.Logf("nodrop clean: %s", &clean.stdout)
	m.eventually("the links", func() bool { return m.running(names[0]) && m.running(names[1]) })
	if after := settingsOf(m, names); after != before {
		t.Errorf("the cards differ after ten kills:\n%s", difference(before, after))
	}
	if dirs := m.notes(); len(dirs) > 0 {
		t.Errorf("%v are left over", dirs)
	}
}

// slowPatience is the maximum time for a run to begin in an emulated machine, which is up to
// 50 times slower than this one.
const slowPatience = 10 * time.Minute

// awaitTrial waits until a run has begun its trial.
func awaitTrial(t *testing.T, p *process) {
	t.Helper()
	deadline := time.After(slowPatience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(p.stderr.String(), "latency 128 B: 0.1% for 24h0m0s") {
		select {
		case <-deadline:
			t.Fatalf("no trial within %s:\n%s", slowPatience, &p.stderr)
		case <-tick.C:
		}
	}
}

func (m *machine) running(name string) bool {
	return m.has(name) && m.link(name).Attrs().OperState == netlink.OperUp
}

// changing matches output of ip that changes by itself: link-local addresses appear some time
// after the interface is up.
var changing = regexp.MustCompile(`(?m)^.*inet6 fe80.*\n.*\n`)

// settingsOf returns the output of ip and ethtool for cards.
func settingsOf(m *machine, names []string) string {
	m.t.Helper()
	var all strings.Builder
	for _, name := range names {
		commands := [][]string{{"ip", "-d", "link", "show", "dev", name}, {"ip", "-d", "addr", "show", "dev", name}}
		for _, option := range []string{"-a", "-c", "-g", "-k", "-x", "-l"} {
			commands = append(commands, []string{"ethtool", option, name})
		}
		for _, c := range commands {
			out, _ := exec.Command(c[0], c[1:]...).CombinedOutput() // a setting that is not there is an error
			for _, line := range strings.Split(changing.ReplaceAllString(string(out), ""), "\n") {
				fmt.Fprintf(&all, "%s: %s\n", strings.Join(c, " "), line)
			}
		}
	}
	return all.String()
}
