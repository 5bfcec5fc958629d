//go:build !standalone

package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var (
	// commandLine matches a line of a block that runs nodrop, with its arguments.
	commandLine = regexp.MustCompile(`(?m)^(?:    )?(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S* )*(?:kubectl )?nodrop ((?:.*\\\n)*.*)$`)
	// word is an argument, as a shell reads it.
	word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s'"#|>])+`)
	// pageBlock is a fenced block.
	pageBlock = regexp.MustCompile("(?ms)^```(?:sh|console)\n(.*?)^```|^\n(?:    [^\n]*\n)+")
)

// TestCommandsOfPagesExist checks the commands of all pages, also where no test runs them: the program has each command with its flags.
func TestCommandsOfPagesExist(t *testing.T) {
	sendsNoFrames(t)
	checked := 0
	err := filepath.WalkDir(filepath.Join(repository, "docs"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" || strings.HasSuffix(file, "commands.md") {
			return err
		}
		for _, block := range pageBlock.FindAllString(read(t, file), -1) {
			for _, m := range commandLine.FindAllStringSubmatch(block, -1) {
				line := strings.ReplaceAll(m[1], "\\\n", " ")
				// What follows is another command, a comment, or the place of the output.
				line, _, _ = strings.Cut(line, " | ")
				line, _, _ = strings.Cut(line, " || ")
				line, _, _ = strings.Cut(line, " #")
				line, _, _ = strings.Cut(line, " > ")
				if problem := problemOf(word.FindAllString(line, -1)); problem != "" {
					t.Errorf("%s: nodrop %s: %s", file, line, problem)
				}
				checked++
			}
		}
		return nil
	})
	if err != nil || checked < 60 {
		t.Errorf("checked %d commands: %v", checked, err)
	}
}

// problemOf returns what is wrong with the arguments of nodrop, or "".
func problemOf(arguments []string) string {
	for i := range arguments {
		arguments[i] = strings.NewReplacer("'", "", `"`, "").Replace(arguments[i])
	}
	found, rest, err := newRootCommand("nodrop").Find(arguments)
	switch {
	case err != nil:
		return err.Error()
	case !found.HasParent():
		return "no such command"
	}
	// The rest of a line in a page may be a placeholder, such as $DEVICE for flags.
	if err := found.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), pflag.ErrHelp.Error()) {
		return err.Error()
	}
	return ""
}

// A command and a flag that do not exist are found.
func TestCommandsOfPagesThatDoNotExist(t *testing.T) {
	sendsNoFrames(t)
	for line, want := range map[string]string{"measure -f x": "unknown command", "run --fast": "unknown flag", "run -f x --set a=b": "", "configure generate acl --ports a": ""} {
		if got := problemOf(strings.Fields(line)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("nodrop %s: got %q, want %q", line, got, want)
		}
	}
}
