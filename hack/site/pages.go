package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// home is the page that the site begins with. Its lists of links are the navigation.
const home = "docs/README.md"

// page is a page of the site.
type page struct {
	// source is a file or folder of the repository, by its path from the root, and url the path of the page.
	source, url string
	title, text string
	// group is the heading of the navigation that the page is under.
	group string
}

// entry is a link of the navigation.
type entry struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// group is a heading of the navigation with its links.
type group struct {
	Title string  `json:"title"`
	Pages []entry `json:"pages"`
}

// site has everything that is written.
type site struct {
	root   string
	groups []group
	// pages are in the order in which they were found.
	pages []*page
	// static are files that are copied, and reports the reports of the gallery.
	static  []page
	reports []report
}

// collect reads the pages below docs, and the files and folders that they link to.
func collect(root string) (*site, error) {
	s := &site{root: root}
	var sources []string
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(name string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			source, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			sources = append(sources, filepath.ToSlash(source))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	grouped, err := s.readNavigation()
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		if grouped[source] == "" && source != home {
			err = errors.Join(err, fmt.Errorf("%s is not in the navigation: add it to a list of %s", source, home))
		}
	}
	if err != nil {
		return nil, err
	}
	if s.reports, err = readGallery(root); err != nil {
		return nil, err
	}
	for _, source := range sources {
		s.add(source)
	}
	// Rewriting the links of a page may add pages.
	for i := 0; i < len(s.pages); i++ {
		p := s.pages[i]
		p.group = grouped[p.source]
		if err := s.read(p); err != nil {
			return nil, err
		}
		if p.text, err = s.rewriteLinks(p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

var listedPage = regexp.MustCompile(`^- \[([^\]]+)\]\(([^)#]+\.md)\)`)

// readNavigation reads the groups of the home page, and returns the group of each page.
func (s *site) readNavigation() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(s.root, home))
	if err != nil {
		return nil, err
	}
	grouped := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if title, is := strings.CutPrefix(line, "## "); is {
			s.groups = append(s.groups, group{Title: strings.TrimSpace(title)})
		}
		m := listedPage.FindStringSubmatch(line)
		if m == nil || len(s.groups) == 0 {
			continue
		}
		source := path.Join(path.Dir(home), m[2])
		if grouped[source] != "" {
			return nil, fmt.Errorf("%s lists %s twice: remove one of the two", home, m[2])
		}
		last := &s.groups[len(s.groups)-1]
		last.Pages = append(last.Pages, entry{Title: strings.ReplaceAll(m[1], "`", ""), URL: "/" + urlOf(source)})
		grouped[source] = last.Title
	}
	s.groups = slices.DeleteFunc(s.groups, func(g group) bool { return len(g.Pages) == 0 })
	return grouped, nil
}

// urlOf returns the path of the page of a file or folder.
func urlOf(source string) string {
	if source == home {
		return "index.html"
	}
	url, isPage := strings.CutPrefix(source, "docs/")
	switch path.Ext(source) {
	case ".png", ".json":
		if isPage {
			return url
		}
	}
	if !isPage || path.Ext(source) != ".md" {
		url = "repository/" + source
	}
	return strings.TrimSuffix(url, ".md") + ".html"
}

// add adds the page of a file or folder, if it is missing.
func (s *site) add(source string) {
	if !slices.ContainsFunc(s.pages, func(p *page) bool { return p.source == source }) {
		s.pages = append(s.pages, &page{source: source, url: urlOf(source)})
	}
}

// read reads title and text of a page.
func (s *site) read(p *page) error {
	if path.Ext(p.source) == ".md" {
		text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(p.source)))
		if err != nil {
			return err
		}
		p.text = s.withReports(p.source, string(text))
		for line := range strings.Lines(p.text) {
			if title, is := strings.CutPrefix(line, "# "); is {
				p.title = strings.ReplaceAll(strings.TrimSpace(title), "`", "")
				break
			}
		}
		if p.title == "" {
			return fmt.Errorf("%s has no heading of the first level", p.source)
		}
		return nil
	}
	p.title = p.source
	text := &strings.Builder{}
	fmt.Fprintf(text, "# `%s`\n\nThis is in the repository of NoDrop.\n", p.source)
	files := os.DirFS(s.root)
	err := fs.WalkDir(files, p.source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		if file != p.source {
			fmt.Fprintf(text, "\n## `%s`\n", strings.TrimPrefix(file, p.source+"/"))
		}
		// The fence is longer than any fence of the file.
		fmt.Fprintf(text, "\n``````%s\n%s\n``````\n", language(file), strings.TrimRight(string(content), "\n"))
		return nil
	})
	p.text = text.String()
	return err
}

// language returns the name of the language of a file, for colors.
func language(file string) string {
	return map[string]string{".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "sh"}[filepath.Ext(file)]
}

// write writes the pages and the navigation for Hugo. Pages are in one folder, since docs/methods.md and docs/methods would be
// one page for Hugo.
func (s *site) write(work string) error {
	content, data := filepath.Join(work, "content"), filepath.Join(work, "data")
	for _, folder := range []string{content, data} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
	}
	for i, p := range s.pages {
		head, err := json.MarshalIndent(map[string]any{"title": p.title, "url": "/" + p.url, "group": p.group, "home": p.source == home}, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(content, fmt.Sprintf("page-%d.md", i)), []byte(string(head)+"\n\n"+p.text), 0o600); err != nil {
			return err
		}
	}
	navigation, err := json.Marshal(s.groups)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, "navigation.json"), navigation, 0o600)
}
