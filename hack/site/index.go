package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// section is a heading of a page with the text below it, as the search finds it.
type section struct {
	Page    string  `json:"page"`
	Heading string  `json:"heading"`
	URL     string  `json:"url"`
	Text    string  `json:"text"`
	Weight  float64 `json:"weight"`
}

// weights are of pages by the beginning of their path: a search finds first what most readers want.
var weights = []struct {
	prefix string
	weight float64
}{{"design/", 0.5}, {"repository/", 0.3}, {"reference/", 0.7}, {"result-schema", 0.6}, {"upgrade", 0.6}, {"contributing", 0.5}, {"", 1}}

// writeIndex writes the index of the search as a script, since a page of a folder on disk may load no other kind of file.
func writeIndex(out string) error {
	var all []section
	files := os.DirFS(out)
	err := fs.WalkDir(files, ".", func(url string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == galleryFolder {
			return fs.SkipDir
		}
		if path.Ext(url) != ".html" {
			return nil
		}
		content, err := fs.ReadFile(files, url)
		if err != nil {
			return err
		}
		sections, err := sectionsOf(content, url)
		all = append(all, sections...)
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "search-index.js"), fmt.Appendf(nil, "window.searchIndex = %s;\n", text), 0o600)
}

// sectionsOf returns the sections of a page.
func sectionsOf(content []byte, url string) ([]section, error) {
	root, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", url, err)
	}
	var all []section
	for n := range root.Descendants() {
		if n.DataAtom != atom.Main {
			continue
		}
		for child := range n.ChildNodes() {
			text := strings.Join(strings.Fields(textOf(child)), " ")
			switch child.DataAtom {
			case atom.H1, atom.H2, atom.H3:
				s := section{Page: text, Heading: text, URL: url, Weight: weightOf(url)}
				if len(all) > 0 {
					s.Page, s.URL = all[0].Page, url+"#"+attribute(child, "id")
				}
				all = append(all, s)
			default:
				// Files of the repository are found by their names.
				if len(all) > 0 && text != "" && !strings.HasPrefix(url, "repository/") {
					all[len(all)-1].Text = strings.TrimSpace(all[len(all)-1].Text + " " + text)
				}
			}
		}
	}
	return all, nil
}

func weightOf(url string) float64 {
	for _, w := range weights {
		if strings.HasPrefix(url, w.prefix) {
			return w.weight
		}
	}
	return 1
}

// textOf returns the text of an element, with a space between cells and lines.
func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var text strings.Builder
	for child := range n.ChildNodes() {
		text.WriteString(textOf(child))
	}
	switch n.DataAtom {
	case atom.Td, atom.Th, atom.Li, atom.P, atom.Tr:
		text.WriteByte(' ')
	}
	return text.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
