package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	fence = regexp.MustCompile("(?ms)^ *(```+).*?^ *```+ *$")
	// link has the text of a link, which may have one pair of brackets in it, and its target. Code that looks like a link has neither.
	link = regexp.MustCompile("`[^`\n]*`|" + `\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)`)
)

// rewriteLinks returns the text of a page with links to pages of the site, and adds the pages that they need. A link to Go code has
// no page: its text stays.
func (s *site) rewriteLinks(p *page) (string, error) {
	if path.Ext(p.source) != ".md" {
		return p.text, nil
	}
	var text strings.Builder
	var problems error
	rewrite := func(part string) string {
		return link.ReplaceAllStringFunc(part, func(found string) string {
			m := link.FindStringSubmatch(found)
			if m[2] == "" {
				return found
			}
			url, err := s.resolve(p, m[2])
			problems = errors.Join(problems, err)
			if url == "" {
				return m[1]
			}
			return "[" + m[1] + "](" + url + ")"
		})
	}
	at := 0
	for _, f := range fence.FindAllStringIndex(p.text, -1) {
		text.WriteString(rewrite(p.text[at:f[0]]) + p.text[f[0]:f[1]])
		at = f[1]
	}
	text.WriteString(rewrite(p.text[at:]))
	return text.String(), problems
}

// resolve returns the target of a link on the site, relative to the page, or nothing if the target is Go code.
func (s *site) resolve(p *page, target string) (string, error) {
	name, anchor, _ := strings.Cut(target, "#")
	url := ""
	if inGallery, is := strings.CutPrefix(name, galleryLink); is {
		url = galleryFolder + "/" + inGallery
	} else if strings.Contains(target, ":") || name == "" {
		return target, nil
	} else {
		source := path.Join(path.Dir(p.source), name)
		info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(source)))
		switch {
		case err != nil:
			return "", fmt.Errorf("%s links to %s: %w", p.source, target, err)
		case path.Ext(source) == ".go":
			return "", nil
		case info.IsDir() && strings.HasPrefix(source+"/", "docs/") && source != "docs/pipelines" && !strings.HasPrefix(source, "docs/pipelines/"):
			source, anchor = home, path.Base(source)
		case info.IsDir():
			files, err := filepath.Glob(filepath.Join(s.root, filepath.FromSlash(source), "*.go"))
			if err != nil || len(files) > 0 || slices.Contains([]string{".", "hack", "internal"}, source) {
				return "", err
			}
		}
		url = urlOf(source)
		if ext := path.Ext(url); ext == ".html" {
			s.add(source)
		} else if !slices.ContainsFunc(s.static, func(f page) bool { return f.url == url }) {
			s.static = append(s.static, page{source: source, url: url})
		}
	}
	relative, err := filepath.Rel(path.Dir(p.url), url)
	if err != nil {
		return "", err
	}
	if anchor != "" {
		relative += "#" + anchor
	}
	return filepath.ToSlash(relative), nil
}
