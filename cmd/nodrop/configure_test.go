package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/testkit/containertest"
	"nodrop.dev/nodrop/internal/testkit/gnmitarget"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// filesIn returns a function that writes a file and returns its path.
func filesIn(t *testing.T) func(name, content string) string {
	folder := t.TempDir()
	return func(name, content string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

// configuring returns a function that runs nodrop configure for a device, and returns what it prints. No password is in that.
func configuring(t *testing.T, reach ...string) func(code int, args ...string) (out, errs string) {
	return func(code int, args ...string) (string, string) {
		t.Helper()
		root := newRootCommand("nodrop")
		var out, errs bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&errs)
		root.SetArgs(append(append([]string{"configure"}, args...), reach...))
		got := 0
		if err := root.ExecuteContext(t.Context()); err != nil {
			got = exit.Explain(&errs, "nodrop", err)
		}
		if got != code {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, got, code, out.String(), errs.String())
		}
		if strings.Contains(out.String()+errs.String(), sshrouter.Password) {
			t.Errorf("%q shows the password", args)
		}
		return out.String(), errs.String()
	}
}

// TestConfigure takes a real router through the commands of the help.
func TestConfigure(t *testing.T) {
	sendsNoFrames(t)
	r := sshrouter.Start(t)
	file := filesIn(t)
	run := configuring(t, "--platform", "frr", "--address", r.Address, "--user", sshrouter.User,
		"--password-file", file("password", sshrouter.Password+"\n"), "--host-keys", file("keys", string(r.HostKey)))
	text, _ := run(exit.Passed, "read")
	base := file("base.conf", text)
	want := strings.Replace(text, "ip route 198.18.100.0/24", "ip route 198.18.101.0/24", 1)
	other := file("other.conf", want)
	const commands = "no ip route 198.18.100.0/24 198.18.1.9\nip route 198.18.101.0/24 198.18.1.9\n"
	if plan, _ := run(exit.Passed, "plan", other); plan != commands {
		t.Errorf("the plan is %q, want %q", plan, commands)
	}
	if again, _ := run(exit.Passed, "read"); again != text {
		t.Errorf("the plan changed the device to %s", again)
	}
	out, _ := run(exit.Passed, "apply", other, "-o", "json")
	var record configure.Record
	if err := json.Unmarshal([]byte(out), &record); err != nil || len(record.Answers) != 2 || record.AfterDigest == record.BeforeDigest {
		t.Errorf("%v: the record is %s", err, out)
	}
	if now, _ := run(exit.Passed, "read"); now != want {
		t.Errorf("the device has %s", now)
	}
	if _, said := run(exit.Passed, "plan", other); !strings.Contains(said, "the device has this configuration") {
		t.Errorf("the plan says %q", said)
	}
	_, said := run(exit.Failed, "apply", file("wrong.conf", want+"ip route 198.18.300.0/24 198.18.1.9\n"))
	if !strings.Contains(said, `the device rejected "ip route 198.18.300.0/24 198.18.1.9"`) || !strings.Contains(said, "the device has the configuration from before") {
		t.Errorf("the message is %q", said)
	}
	if _, said := run(exit.Use, "apply", file("empty.conf", "!\n")); !strings.Contains(said, "would be removed") {
		t.Errorf("the message is %q", said)
	}
	run(exit.Passed, "apply", base)
	if now, _ := run(exit.Passed, "read"); now != text {
		t.Errorf("the base was not restored: %s", now)
	}
}

// TestConfigureByGNMI takes a gNMI target through the same commands.
func TestConfigureByGNMI(t *testing.T) {
	sendsNoFrames(t)
	g := gnmitarget.Start(t, `{"openconfig-interfaces:interfaces": {"interface": [{"name": "e1", "config": {"name": "e1", "mtu": 1500}}]}}`)
	file := filesIn(t)
	key := func(name string) string {
		value, err := g.Key(name)
		if err != nil {
			t.Fatal(err)
		}
		return file(name, string(value))
	}
	reach := []string{"--platform", "gnmi", "--address", g.Address}
	all := append(slices.Clone(reach), "--user", gnmitarget.User, "--password-file", key("password"),
		"--certificates", key("certificates"), "--client-certificate", key("clientCertificate"), "--key-file", key("privateKey"))
	run := configuring(t, all...)
	text, _ := run(exit.Passed, "read")
	other := file("other.json", strings.Replace(text, "1500", "9000", 1))
	if plan, _ := run(exit.Passed, "plan", other); !strings.HasPrefix(plan, "replace /openconfig-interfaces:interfaces\n{\n") || !strings.Contains(plan, `"mtu": 9000`) {
		t.Errorf("the plan is %q", plan)
	}
	run(exit.Passed, "apply", other)
	if now, _ := run(exit.Passed, "read"); !strings.Contains(now, `"mtu": 9000`) {
		t.Errorf("the device has %s", now)
	}
	if _, said := run(exit.Failed, "apply", file("wrong.json", strings.Replace(text, "1500", "70000", 1))); !strings.Contains(said, `the device rejected "set"`) || !strings.Contains(said, "the device has the configuration from before") {
		t.Errorf("the message is %q", said)
	}
	run(exit.Passed, "apply", file("base.json", text))
	if now, _ := run(exit.Passed, "read"); now != text {
		t.Errorf("the base was not restored: %s", now)
	}
	for want, reach := range map[string][]string{
		"certificates: Required value":                                              reach,
		"certificates is --certificates, clientCertificate is --client-certificate": reach,
		`--certificates: there is no file "/nowhere"`:                               append(slices.Clone(reach), "--certificates", "/nowhere"),
		"key user: Required value":                                                  {"--platform", "frr", "--address", g.Address},
		"Unsupported value: \"ios\": want eos, files, frr, gnmi":                    {"--platform", "ios", "--address", g.Address},
	} {
		if _, said := configuring(t, reach...)(exit.Use, "read"); !strings.Contains(said, want) {
			t.Errorf("%q: %q, want %q", reach, said, want)
		}
	}
}

// TestConfigureInContainer takes a router in a container, as containerlab starts it, through the same commands, and then its packet filter by
// a file.
func TestConfigureInContainer(t *testing.T) {
	leaveToLogic(t)
	d := containertest.Start(t)
	r := d.Router("clab-lab-dut")
	t.Setenv("DOCKER_HOST", "unix://"+d.Socket)
	file := filesIn(t)
	run := configuring(t, "--platform", "frr", "--container", r.Name)
	text, _ := run(exit.Passed, "read")
	base := file("base.conf", text)
	want := strings.Replace(text, "ip route 198.18.100.0/24", "ip route 198.18.101.0/24", 1)
	other := file("other.conf", want)
	const commands = "no ip route 198.18.100.0/24 198.18.1.9\nip route 198.18.101.0/24 198.18.1.9\n"
	if plan, _ := run(exit.Passed, "plan", other); plan != commands {
		t.Errorf("the plan is %q, want %q", plan, commands)
	}
	run(exit.Passed, "apply", other)
	if now, _ := run(exit.Passed, "read"); now != want {
		t.Errorf("the device has %s", now)
	}
	_, said := run(exit.Failed, "apply", file("wrong.conf", want+"ip route 198.18.300.0/24 198.18.1.9\n"))
	if !strings.Contains(said, `the device rejected "ip route 198.18.300.0/24 198.18.1.9"`) || !strings.Contains(said, "the device has the configuration from before") {
		t.Errorf("the message is %q", said)
	}
	run(exit.Passed, "apply", base)

	const path, load = "/etc/frr/lab.conf", "vtysh -f /etc/frr/lab.conf"
	files := configuring(t, "--platform", "files", "--container", r.Name, "--files", path, "--reload", load)
	if now, _ := files(exit.Passed, "read"); now != path+": null\n" {
		t.Errorf("the files are %q", now)
	}
	routes := file("files.yaml", path+": |\n  no ip route 198.18.100.0/24 198.18.1.9\n  ip route 198.18.102.0/24 198.18.1.9\n")
	if plan, _ := files(exit.Passed, "plan", routes); plan != "replace "+path+", with 2 lines\n"+load+"\n" {
		t.Errorf("the plan is %q", plan)
	}
	files(exit.Passed, "apply", routes)
	if now, _ := run(exit.Passed, "read"); !strings.Contains(now, "ip route 198.18.102.0/24 198.18.1.9\n") || strings.Contains(now, "198.18.100.0") {
		t.Errorf("the files are not effective: %s", now)
	}

	for want, args := range map[string][]string{
		"has no container nowhere":          {"--platform", "frr", "--container", "nowhere"},
		"were not tried in a container":     {"--platform", "iosxe", "--container", r.Name},
		"--files: Required value":           {"--platform", "files", "--container", r.Name},
		"--reload: Required value":          {"--platform", "files", "--container", r.Name, "--files", path},
		`--container: Invalid value: "a/b"`: {"--platform", "frr", "--container", "a/b"},
		"reached by their server":           {"--platform", "netconf", "--container", r.Name},
		"address container":                 {"--platform", "frr"},
		"[container user]":                  {"--platform", "frr", "--container", r.Name, "--user", "lab"},
	} {
		if _, said := configuring(t, args...)(exit.Use, "read"); !strings.Contains(said, want) {
			t.Errorf("%q: %q, want %q", args, said, want)
		}
	}
}
