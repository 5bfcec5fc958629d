package device

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/routing"
)

var update = flag.Bool("update", false, "write the golden files")

func sessions() []routing.Session {
	return []routing.Session{
		{
			Name: "p1", Port: "p1", Local: netip.MustParseAddr("198.18.1.2"), Remote: netip.MustParseAddr("198.18.1.1"), LocalASN: 65001, RemoteASN: 65000,
			RouterID: netip.MustParseAddr("198.18.1.2"), Families: []routing.Family{routing.IPv4Unicast}, HoldTime: 90 * time.Second,
			BFD: &routing.BFD{Interval: 150 * time.Millisecond, Multiplier: 3},
		},
		{
			Name: "p2", Port: "p2", Local: netip.MustParseAddr("2001:2:0:2::2"), Remote: netip.MustParseAddr("2001:2:0:2::1"), LocalASN: 4200000001, RemoteASN: 65000,
			RouterID: netip.MustParseAddr("198.18.2.2"), Families: []routing.Family{routing.IPv6Unicast}, HoldTime: 9 * time.Second, Password: "s3cret",
		},
	}
}

func config() Config {
	return Config{ASN: 65000, RouterID: netip.MustParseAddr("198.18.0.254"), Sessions: sessions()}
}

func TestConfigurationsAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		var got strings.Builder
		if err := Render(&got, kind, config()); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", kind+".conf")
		if *update {
			if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", kind, got.String(), want)
		}
		if strings.Contains(got.String(), "s3cret") {
			t.Errorf("%s: the password is printed", kind)
		}
	}
}

func TestDaemonsAcceptTheirConfigurations(t *testing.T) {
	t.Parallel()
	for kind, wrong := range map[string]string{FRR: "router bgp 1\n neighbor 198.18.1.2 password s3cret none\n", BIRD: "protocol none;\n"} {
		c := config()
		c.Passwords = true
		c.Sessions[0].BFD = nil // bfdd has it
		c.Sessions[0].AddPath = true
		if kind == FRR {
			c.Sessions[1].Families = []routing.Family{routing.IPv6LabeledUnicast, routing.IPv4Unicast}
		}
		var text strings.Builder
		if err := Render(&text, kind, c); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "conf")
		for content, good := range map[string]bool{text.String(): true, wrong: false} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Check(t.Context(), kind, file); (err == nil) != good || err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

func TestRenderRefusesWhatADeviceCannot(t *testing.T) {
	t.Parallel()
	c := config()
	c.Sessions[0].Families = append(c.Sessions[0].Families, routing.IPv4LabeledUnicast)
	for kind, want := range map[string]string{
		FRR:     "session p1: families: FRR has either unicast or labeled unicast of an IP version on a session; make two sessions of it",
		BIRD:    "session p1: families: BIRD has no labeled unicast",
		"other": `no configuration for devices of the kind "other"; there are: ` + strings.Join(Kinds(), ", "),
	} {
		if err := Render(&strings.Builder{}, kind, c); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", kind, err, want)
		}
	}
}
