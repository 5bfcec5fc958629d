package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/dut"
)

// updateDocs makes the test write what it has seen into the document.
const updateDocs = "NODROP_UPDATE_DOCS"

// shortened makes the trials of what init wrote short before they are run, so that the test
// is.
var shortened = strings.NewReplacer("trialDuration: 2s", "trialDuration: 300ms", "searchTrialDuration: 500ms", "searchTrialDuration: 100ms", "settleTime: 200ms", "settleTime: 20ms", "restTime: 100ms", "restTime: 0s", "resolution: 1%", "resolution: 10%")

// TestFirstHour types every line of the document that begins with "$ ", on a machine with
// two interfaces that are cabled to a switch: a network namespace with two veths, whose
// other ends are ports of a bridge. What the lines print must be in the document. Numbers
// and verdicts of the machine are not compared; what nodrop validate prints is of no machine.
func TestFirstHour(t *testing.T) {
	needsRoot(t)
	t.Parallel() // It compares no rates.
	const document = "../../docs/first-hour.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	shell := newShell(t)
	blocks := consoleBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	updated := string(text)
	for _, block := range blocks {
		var seen strings.Builder
		for _, c := range commandsIn(block[1]) {
			printed := shell.run(c.line)
			seen.WriteString("$ " + c.line + "\n" + printed)
			if os.Getenv(updateDocs) == "" && !matches(c.output, printed, normalOf(c.line)) {
				t.Errorf("$ %s\nprints\n%s\nthe document has\n%s", c.line, printed, c.output)
			}
		}
		updated = strings.Replace(updated, block[1], seen.String(), 1)
	}
	if os.Getenv(updateDocs) != "" {
		if err := os.WriteFile(document, []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shell runs lines on the machine, in a directory of its own.
type shell struct {
	t *testing.T
	// root is the directory of the repository, and dir the working directory of the lines.
	root, dir string
	// bin has what is installed.
	bin string
	env []string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // for good: the thread ends with the test
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	device := dut.NewNetns([]v1alpha1.Port{{Name: "eth1"}, {Name: "eth2"}})
	if err := device.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = device.Restore(context.Background()) })

	// Notes of taken interfaces are the test's own.
	dir, bin, state := t.TempDir(), t.TempDir(), t.TempDir()
	script := "#!/bin/sh\ncase $1 in run) verb=$1; shift; set -- $verb --state-dir " + state + " \"$@\";; esac\nexec " + filepath.Join(bin, "built") + " \"$@\"\n"
	for name, text := range map[string]string{"nodrop": script, "sudo": "#!/bin/sh\nexec \"$@\"\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &shell{t: t, root: root, dir: dir, bin: bin, env: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))}
}

// run runs a line and returns what it prints to stdout. A run of the machine's own may not
// be conclusive.
func (s *shell) run(line string) string {
	s.t.Helper()
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "/usr/local/bin/nodrop", filepath.Join(s.bin, "built")))
	cmd.Dir, cmd.Env = s.dir, s.env
	if strings.Contains(line, "go build") {
		cmd.Dir = s.root
	}
	if strings.Contains(line, "nodrop run") {
		s.shorten()
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || !slices.Contains([]int{exit.Passed, exit.Inconclusive}, ended.ExitCode())) {
		s.t.Fatalf("$ %s\n%v\n%s%s", line, err, &stdout, &stderr)
	}
	return stdout.String()
}

func (s *shell) shorten() {
	s.t.Helper()
	file := filepath.Join(s.dir, "lab", "benchmark.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(shortened.Replace(string(text))), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// typed is a line that is typed, and what the document has below it.
type typed struct{ line, output string }

func commandsIn(block string) []typed {
	var all []typed
	for line := range strings.Lines(block) {
		if command, isCommand := strings.CutPrefix(line, "$ "); isCommand {
			all = append(all, typed{line: strings.TrimSuffix(command, "\n")})
		} else if len(all) > 0 {
			all[len(all)-1].output += line
		}
	}
	return all
}

var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+ UTC`), "TIME"},
	{regexp.MustCompile(`([0-9a-f]{2}:){5}[0-9a-f]{2}`), "MAC"},
	{regexp.MustCompile(`\b(Valid|Virtual|GeneratorBound|Contended|Uncalibrated)\b`), "VALIDITY"},
	{regexp.MustCompile(`\b(Passed|Measured|Inconclusive)\b`), "PHASE"},
	{regexp.MustCompile(`\b[kMG]bit/s`), "bit/s"},
	{regexp.MustCompile(` -( |$)`), " 0$1"},
	{regexp.MustCompile(`[-+]?[0-9][0-9,.]*[0-9hms]*`), "N"},
	{regexp.MustCompile(`[ \t]+`), " "},
	// The intended load has a column where some row was offered less.
	{regexp.MustCompile(`\bintended `), ""},
	{regexp.MustCompile(`^ ?bytes % `), "bytes "},
	{regexp.MustCompile(`N( N)+`), "N"},
}

// normal is a text without what differs from run to run and from machine to machine.
func normal(line string) string {
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.with)
	}
	return strings.TrimSpace(line)
}

// normalOf returns what makes lines that a command prints comparable.
func normalOf(command string) func(string) string {
	if strings.Contains(command, "nodrop validate") {
		return strings.TrimSpace
	}
	return normal
}

// matches reports whether what was printed has all lines of the document in their order. A
// line "..." stands for any others.
func matches(document, printed string, normal func(string) string) bool {
	want, got := strings.Split(strings.TrimSpace(document), "\n"), strings.Split(strings.TrimSpace(printed), "\n")
	for i, line := range want {
		if line == "..." {
			rest := strings.Join(want[i+1:], "\n")
			for j := range len(got) + 1 {
				if matches(rest, strings.Join(got[j:], "\n"), normal) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || normal(line) != normal(got[i]) {
			return false
		}
	}
	return len(got) == len(want)
}
