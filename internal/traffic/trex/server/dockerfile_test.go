package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDockerfile reads Dockerfile.trex, which is never built here: every argument is
// declared before it is used, what is copied comes from a stage that exists, and the
// archive's checksum is asked for before the archive.
func TestDockerfile(t *testing.T) {
	all := instructions(t)
	if len(all) == 0 || all[0].word != "ARG" && all[0].word != "FROM" {
		t.Fatalf("it begins with %v, want ARG or FROM", all)
	}
	global, own := map[string]bool{}, map[string]bool{}
	var stages []string
	for _, i := range all {
		known := own
		switch i.word {
		case "FROM":
			known = global
			own = map[string]bool{}
			fields := strings.Fields(i.rest)
			if len(fields) != 3 || fields[1] != "AS" {
				t.Errorf("FROM %s: want an image AS a stage", i.rest)
			} else {
				stages = append(stages, fields[2])
			}
		case "ARG":
			name, _, _ := strings.Cut(i.rest, "=")
			if len(stages) == 0 {
				known = global
			}
			known[name] = true
		case "COPY":
			if from, _, ok := strings.Cut(strings.TrimPrefix(i.rest, "--from="), " "); !ok || !slices.Contains(stages, from) {
				t.Errorf("COPY %s: there is no such stage in %v", i.rest, stages)
			}
		case "RUN", "USER", "WORKDIR":
		default:
			t.Errorf("%s is no instruction that is used here", i.word)
		}
		for _, use := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(i.rest, -1) {
			if !known[use[1]] {
				t.Errorf("%s %s: %s is not declared there", i.word, i.rest, use[1])
			}
		}
	}
	if !slices.Equal(stages, []string{"archive", "trex"}) {
		t.Errorf("the stages are %v", stages)
	}
	at := func(text string) int {
		return slices.IndexFunc(all, func(i instruction) bool { return strings.Contains(i.rest, text) })
	}
	if asked, fetched := at("test -n"), at("curl -fsSL"); asked < 0 || fetched < asked {
		t.Errorf("the checksum is asked for in instruction %d, the archive fetched in %d", asked, fetched)
	}
	if at("sha256sum -c") != at("curl -fsSL") {
		t.Error("the archive is not checked where it is fetched")
	}
	if at("/archive/"+Binary) < 0 {
		t.Errorf("%s, which is started, is not copied", Binary)
	}
}

// TestDockerfileAsksForTheChecksum runs what the image's build does first.
func TestDockerfileAsksForTheChecksum(t *testing.T) {
	all := instructions(t)
	first := slices.IndexFunc(all, func(i instruction) bool { return i.word == "RUN" })
	for sum, want := range map[string]bool{"": false, "0123abcd": true} {
		cmd := exec.Command("sh", "-c", all[first].rest)
		cmd.Env = []string{"TREX_SHA256=" + sum, "TREX_URL=https://example.com/trex.tar.gz"}
		text, err := cmd.CombinedOutput()
		switch {
		case want != (err == nil):
			t.Errorf("with checksum %q: %v, %s", sum, err, text)
		case !want && !strings.Contains(string(text), "TREX_SHA256 is empty: give the SHA-256 checksum of https://example.com/trex.tar.gz"):
			t.Errorf("with checksum %q it says %q", sum, text)
		}
	}
}

// instruction is a line of a Dockerfile, with those that continue it.
type instruction struct{ word, rest string }

func instructions(t *testing.T) []instruction {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "Dockerfile.trex"))
	if err != nil {
		t.Fatal(err)
	}
	var all []instruction
	line := ""
	for part := range strings.Lines(string(text)) {
		part = strings.TrimSpace(part)
		if part == "" || strings.HasPrefix(part, "#") {
			continue
		}
		before, more := strings.CutSuffix(part, `\`)
		line += before
		if more {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		all = append(all, instruction{word, rest})
		line = ""
	}
	if line != "" {
		t.Errorf("the last instruction is not ended: %s", line)
	}
	return all
}
