package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mark is the first line of a block of commands that no test runs. A reason may follow.
const mark = "# not run by a test"

// runBy has the test that runs the commands of a page, by the language of their blocks. The file of the test names the page.
var runBy = []struct{ page, language, file, test string }{
	{"docs/first-hour.md", "console", "cmd/nodrop/firsthour_test.go", "TestFirstHour"},
	{"docs/tutorials/no-cluster.md", "console", "cmd/nodrop/tutorial_test.go", "TestTutorialWithoutACluster"},
	{"docs/methods/gallery.md", "console", "cmd/nodrop/tutorial_test.go", "TestCommandOfTheGallery"},
	{"docs/guides/lab-owner.md", "sh", "e2e/guides_test.go", "TestGuides"},
	{"docs/guides/team.md", "sh", "e2e/guides_test.go", "TestGuides"},
	{"docs/guides/operations.md", "sh", "e2e/restore_test.go", "TestRestore"},
}

// command matches the first line of a block of commands.
var command = regexp.MustCompile(`^(\$ .*|(sudo|kubectl|nodrop|nodrop-dev|helm|make|docker|go|curl|tar|echo|mount|modprobe|driverctl|aws|openssl|sha256sum|git|jq|kind|ssh-keyscan|export|ip|ethtool|hack/\S+|[A-Z_]{3,}=\S*|uid=\S*)( .*)?)$`)

// block is a block of code of a page.
type block struct {
	line           int
	language, text string
}

// blocksOf returns the blocks of code of a page, fenced and indented ones.
func blocksOf(text string) []block {
	var all []block
	var current *block
	closing, before := "", ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		indented := strings.HasPrefix(line, "    ")
		switch {
		case closing != "" && trimmed == closing:
			closing, current = "", nil
		case closing != "":
			current.text += line + "\n"
		case strings.HasPrefix(trimmed, "```"):
			language := strings.TrimLeft(trimmed, "`")
			closing = strings.TrimSuffix(trimmed, language)
			all = append(all, block{line: i + 1, language: language})
			current = &all[len(all)-1]
		case indented && current != nil:
			current.text += line[4:] + "\n"
		case indented && before == "":
			all = append(all, block{line: i + 1, text: line[4:] + "\n"})
			current = &all[len(all)-1]
		case trimmed != "":
			current = nil
		}
		before = trimmed
	}
	return all
}

// isCommands reports whether a block has commands.
func (b block) isCommands() bool {
	switch b.language {
	case "sh", "bash", "shell", "console":
		return true
	case "":
		first, _, _ := strings.Cut(strings.TrimPrefix(b.text, mark+"\n"), "\n")
		return command.MatchString(first)
	}
	return false
}

// TestCommandsAreRunOrMarked checks that each block of commands in docs is run by a test, or carries the mark.
func TestCommandsAreRunOrMarked(t *testing.T) {
	blocks, run := 0, map[int]int{}
	for page, text := range texts(t) {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		for _, b := range blocksOf(text) {
			if !b.isCommands() {
				continue
			}
			blocks++
			by := -1
			for i, r := range runBy {
				if r.page == page && r.language == b.language {
					by = i
				}
			}
			switch marked := strings.HasPrefix(b.text, mark); {
			case by >= 0 && marked:
				t.Errorf("%s:%d: the block has the mark, and %s runs it", page, b.line, runBy[by].test)
			case by >= 0:
				run[by]++
			case !marked:
				t.Errorf("%s:%d: no test runs these commands: begin the block with %q, or add the test to runBy", page, b.line, mark)
			}
		}
	}
	if blocks < 50 {
		t.Errorf("found only %d blocks of commands", blocks)
	}
	for i, r := range runBy {
		source, err := os.ReadFile(filepath.Join(root, r.file))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(source), "func "+r.test+"(") || !strings.Contains(string(source), path.Base(r.page)) {
			t.Errorf("%s has no test %s that names %s", r.file, r.test, path.Base(r.page))
		}
		if run[i] == 0 {
			t.Errorf("%s has no block of the language %s for %s", r.page, r.language, r.test)
		}
	}
}
