// Command terms checks the language of comments, messages and pages: docs/contributing.md has its rules.
// It prints each place that breaks one, as FILE:LINE, and ends with 1 if there is any.
//
//	terms FOLDER...
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rule is one thing that a text must not contain.
type rule struct {
	pattern *regexp.Regexp
	remedy  string
}

// beginnings are rules for the first words of the comment of a declaration.
var beginnings = []rule{
	{regexp.MustCompile(`^[A-Za-z_]\w*(, \w+)*( and \w+)? says?\b`), `begin with "X reports whether", "X returns" or another verb`},
	{regexp.MustCompile(`^[A-Za-z_]\w*(, \w+)*( and \w+)? (is|are) what\b`), `begin with a noun phrase: "X contains", "X is the number of"`},
	{regexp.MustCompile(`^[A-Za-z_]\w*(, \w+)*( and \w+)? (is that|are those) of\b`), "repeat the noun"},
}

// words are rules for comments, messages and pages.
var words = []rule{
	{regexp.MustCompile(`(?i)\b(gravest|mended|hush|whoever|somebody|nobody)\b`), "name the person, the role or the component"},
	{regexp.MustCompile(`\b(as may be|which is which|of none\b|stands? in for)`), "say it directly"},
}

// spelling is the rule for words that Americans spell in another way. Names of the code and of
// the API are exceptions.
var spelling = rule{
	regexp.MustCompile(`(?i)\b(behaviours?|colours?|neighbours?|favours?|honours?|centres?|metres?|licences?|(analy|organi|recogni|initiali|normali)s(es?|ed|ing|ation))\b`),
	"use American spelling",
}

// conflict is the rule for lines that a merge has left.
var conflict = rule{regexp.MustCompile(`^(<<<<<<<|>>>>>>>) `), "end the merge: choose one of both texts"}

// texts are the rules for texts without names of the code: messages and pages.
var texts = append(slices.Clone(words), spelling, conflict)

// inlineCode is code within a line of a page.
var inlineCode = regexp.MustCompile("`[^`]*`")

// problem is one place that breaks a rule.
type problem struct {
	place, text, remedy string
}

func main() {
	var problems []problem
	for _, folder := range os.Args[1:] {
		found, err := checkFolder(folder)
		if err != nil {
			fmt.Fprintln(os.Stderr, "terms:", err)
			os.Exit(2)
		}
		problems = append(problems, found...)
	}
	for _, p := range problems {
		fmt.Printf("%s: %q: %s\n", p.place, p.text, p.remedy)
	}
	if len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "%d places do not keep the rules of docs/contributing.md\n", len(problems))
		os.Exit(1)
	}
}

// checkFolder checks the Go files and the pages below a folder. It leaves out generated code
// and hidden folders.
func checkFolder(folder string) ([]problem, error) {
	var problems []problem
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != folder && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		var found []problem
		switch filepath.Ext(name) {
		case ".go":
			found, err = checkGo(path)
		case ".md":
			found, err = checkPage(path)
		}
		problems = append(problems, found...)
		return err
	})
	return problems, err
}

// checkGo checks the comments of a Go file, and its messages unless it is a test.
func checkGo(path string) ([]problem, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	documents, names := docs(file), identifiers(file)
	var problems []problem
	if !strings.HasSuffix(path, "_test.go") {
		problems = messages(set, file)
	}
	for _, group := range file.Comments {
		text := strings.Join(strings.Fields(group.Text()), " ")
		place := set.Position(group.Pos()).String()
		if documents[group] {
			problems = append(problems, breaks(beginnings, place, text)...)
		}
		problems = append(problems, breaks(words, place, text)...)
		for _, word := range spelling.pattern.FindAllString(text, -1) {
			if !names[strings.ToLower(word)] {
				problems = append(problems, problem{place, word, spelling.remedy})
			}
		}
	}
	return problems, nil
}

// messages checks the texts of a file that people read: its literals of several words.
func messages(set *token.FileSet, file *ast.File) []problem {
	var problems []problem
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil // The tag is no text, and has no children.
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind == token.STRING && err == nil && strings.Contains(text, " ") && !strings.Contains(text, `\b`) {
				problems = append(problems, breaks(texts, set.Position(n.Pos()).String(), text)...)
			}
		}
		return true
	})
	return problems
}

// identifiers returns the names in the code of a file, and the words in its tags, in lower case.
func identifiers(file *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			names[strings.ToLower(n.Name)] = true
		case *ast.Field:
			if n.Tag != nil {
				for _, word := range regexp.MustCompile(`\w+`).FindAllString(n.Tag.Value, -1) {
					names[strings.ToLower(word)] = true
				}
			}
		}
		return true
	})
	return names
}

// docs returns the comments of a file that document a declaration or a field.
func docs(file *ast.File) map[*ast.CommentGroup]bool {
	found := map[*ast.CommentGroup]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found[n.Doc] = true
		case *ast.GenDecl:
			found[n.Doc] = true
		case *ast.TypeSpec:
			found[n.Doc] = true
		case *ast.ValueSpec:
			found[n.Doc] = true
		case *ast.Field:
			found[n.Doc] = true
		}
		return true
	})
	return found
}

// checkPage checks the lines of a Markdown page, without its blocks of code and what stands
// between the comments "terms: off" and "terms: on".
func checkPage(path string) ([]problem, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var problems []problem
	lines, code, off := bufio.NewScanner(file), false, false
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		switch line {
		case "<!-- terms: off -->":
			off = true
		case "<!-- terms: on -->":
			off = false
		}
		if off || code || strings.HasPrefix(line, "    ") {
			continue
		}
		line = inlineCode.ReplaceAllString(line, "")
		problems = append(problems, breaks(texts, fmt.Sprintf("%s:%d", path, n), line)...)
	}
	return problems, lines.Err()
}

// breaks returns the rules that a text breaks.
func breaks(rules []rule, place, text string) []problem {
	var problems []problem
	for _, r := range rules {
		if found := r.pattern.FindString(text); found != "" {
			problems = append(problems, problem{place, found, r.remedy})
		}
	}
	return problems
}
