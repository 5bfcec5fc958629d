package files_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/files"
	"nodrop.dev/nodrop/internal/testkit/containertest"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
)

const (
	rulesFile = "/etc/nftables.conf"
	otherFile = "/etc/lab/motd"
	reload    = "nft -f " + rulesFile
	base      = "flush ruleset\ntable inet lab {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t\tip saddr 198.18.9.0/24 drop\n\t}\n}\n"
)

// filter is a container of Docker whose packet filter has the rules of a file. Its programs are the ones of this machine, which is
// Debian as well. What it has is what nft reports: a file that was replaced and not reloaded is a difference.
func filter(t *testing.T) *drivertest.Device {
	d := containertest.Start(t)
	c := d.RunProgram("dut", []string{"sleep", "infinity"}, "--volume", "/usr:/usr:ro")
	d.RunProgram("other", []string{"sleep", "infinity"}, "--volume", "/bin/true:/usr/bin/uname:ro")
	c.ExecWith(base, "sh", "-c", "mkdir /etc/lab && cat > "+rulesFile+" && "+reload)
	c.ExecWith("hello\n", "sh", "-c", "cat > "+otherFile+" && chmod 640 "+otherFile)
	return drivertest.InContainer(drivertest.Device{
		Address: d.Socket, Other: other,
		Running: func() string {
			found := map[string]*string{rulesFile: new("flush ruleset\n" + c.Exec("nft", "-s", "list", "ruleset")), otherFile: nil}
			if text := c.Exec("sh", "-c", "stat -c %a,%u "+otherFile+" 2>/dev/null && cat "+otherFile+" || true"); text != "" {
				owner, content, _ := strings.Cut(text, "\n")
				if owner != "640,0" {
					t.Errorf("mode and owner of a file are %s now", owner)
				}
				found[otherFile] = &content
			}
			return written(t, found)
		},
		Rejected: func(c configure.Configuration) (configure.Configuration, string) {
			return change(c, "\t\tip daddr 198.18.300.0/24 drop\n", new("rejected\n")), reload
		},
	}, "dut", "other", func(a commands.Access) (configure.Driver, error) {
		return files.New(a, []string{rulesFile, otherFile}, reload)
	}, "it does not say that it is Linux")
}

// written is a configuration with some files.
func written(t *testing.T, c map[string]*string) string {
	t.Helper()
	text, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// change is a configuration with further rules and another text.
func change(from configure.Configuration, rules string, text *string) configure.Configuration {
	var c map[string]*string
	if err := yaml.Unmarshal([]byte(from), &c); err != nil {
		panic(err)
	}
	c[rulesFile], c[otherFile] = new(strings.Replace(*c[rulesFile], "\t}\n", rules+"\t}\n", 1)), text
	out, err := yaml.Marshal(c)
	if err != nil {
		panic(err)
	}
	return configure.Configuration(out)
}

// other is the base with further rules and another text.
func other(from configure.Configuration, entries int) configure.Configuration {
	var rules strings.Builder
	for i := range entries {
		fmt.Fprintf(&rules, "\t\tip daddr 198.19.%d.0/24 drop\n", i)
	}
	return change(from, rules.String(), new(strings.Repeat("x", entries)+" without an end"))
}

// TestDriver takes files of a container through everything that may happen to a change.
func TestDriver(t *testing.T) { filter(t).Run(t) }

// TestLostConnection cuts the connection at more and more places of a change.
func TestLostConnection(t *testing.T) { filter(t).RunLost(t, 200, 300, 6500) }
