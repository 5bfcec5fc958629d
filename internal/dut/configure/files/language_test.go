package files

import (
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
)

var language = Language{Paths: []string{"/etc/a", "/etc/b.d/b"}, Reload: "reload --now"}

// TestParse reads configurations, and names what is wrong with others.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/etc/b.d/b: null\n/etc/a: |\n  one\n  two\n": "/etc/a: |\n  one\n  two\n/etc/b.d/b: null\n",
		"# nothing\n": "",
		"":            "",
	} {
		if c, err := language.Parse(text); err != nil || string(c) != want {
			t.Errorf("%q: %q, %v, want %q", text, c, err, want)
		}
	}
	for text, want := range map[string]string{
		"/etc/a: x\n":                          "/etc/b.d/b: Required value",
		"/etc/a: x\n/etc/b.d/b: y\n/etc/c: z":  "/etc/c: Unsupported value: the files of the device are /etc/a, /etc/b.d/b",
		"/etc/a: x\n/etc/a: y":                 "already",
		"hostname dut\n":                       "want an object in YAML",
		"/etc/../a: x":                         `"/etc/../a": Invalid value`,
		"etc/a: x":                             `"etc/a": Invalid value`,
		"/etc/$(reboot): x":                    `"/etc/$(reboot)": Invalid value`,
		"/etc/a: \"\\0\"\n/etc/b.d/b: null":    "/etc/a: Invalid value",
		"/etc/a: {one: two}\n/etc/b.d/b: null": "want an object in YAML",
	} {
		if _, err := language.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestCheck names settings that cannot work.
func TestCheck(t *testing.T) {
	t.Parallel()
	for want, l := range map[string]Language{
		"files: Required value":            {Reload: "x"},
		`files: "/etc/": Invalid value`:    {Paths: []string{"/etc/"}, Reload: "x"},
		`files: Duplicate value: "/etc/a"`: {Paths: []string{"/etc/a", "/etc/a"}, Reload: "x"},
		"reload: Required value":           {Paths: []string{"/etc/a"}, Reload: " "},
	} {
		if err := l.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestDifferences compares configurations, without secrets. Files whose reload has not ended differ from themselves.
func TestDifferences(t *testing.T) {
	t.Parallel()
	const from = "/etc/a: |\n  one\n  password hunter2\n  three\n/etc/b.d/b: null\n"
	for to, want := range map[configure.Configuration][]string{
		from:            nil,
		unloaded + from: {"+ the reload command has not ended with these files"},
		"/etc/a: |\n  one\n  password hunter3\n  three\n/etc/b.d/b: x\n": {"- /etc/a: password (hidden)", "+ /etc/a: password (hidden)", "+ /etc/b.d/b"},
		"/etc/a: null\n/etc/b.d/b: null\n":                               {"- /etc/a"},
		"nonsense":                                                       {"+ want an object in YAML"},
	} {
		got := language.Differences(from, to)
		if len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q: %q, want %q", to, got, want)
		}
	}
	if found := language.Differences(unloaded+from, from); len(found) > 0 {
		t.Errorf("%q, want that files whose reload has ended are what was wanted", found)
	}
	if got, want := language.Commands(from, "/etc/a: |\n  two\n/etc/b.d/b: null\n"), []string{"replace /etc/a, with 1 lines", "reload --now"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := language.Commands(unloaded+from, from); !slices.Equal(got, []string{"reload --now"}) {
		t.Errorf("%q, want the reload command", got)
	}
	if got := language.Commands(from, from); len(got) > 0 {
		t.Errorf("%q, want nothing", got)
	}
}

// TestMask hides secrets in the forms of configuration files.
func TestMask(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"password: hunter2", `"secret": "hunter2",`, " neighbor 198.18.1.3 password hunter2", "ip ospf message-digest-key 1 md5 hunter2", "private-key=hunter2", "enable secret 5 hunter2", "key hunter2"} {
		if got := language.Mask(text); strings.Contains(got, "hunter2") || !strings.Contains(got, "(hidden)") {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	if got := language.Mask("hostname key1\nroute 198.18.1.0/24"); got != "hostname key1\nroute 198.18.1.0/24" {
		t.Errorf("%q", got)
	}
}

// FuzzReported reads what a device may print.
func FuzzReported(f *testing.F) {
	f.Add("file 4\none\nnone\n")
	f.Add("file 2\nnone\nnone\nunloaded\n")
	f.Fuzz(func(t *testing.T, out string) {
		c, _, err := language.reported(out)
		if err != nil {
			return
		}
		text, err := write(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := language.Parse(string(text))
		if err != nil || again != text {
			t.Errorf("%q was read as %q, which is read as %q: %v", out, text, again, err)
		}
	})
}
