package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// galleryPage has a table of methods, with a link to the page of each and to its sample.
	galleryPage = "docs/methods/gallery.md"
	// galleryFolder is the folder of the reports on the site.
	galleryFolder = "gallery"
	// galleryLink is the beginning of a link to a report, which no file of the repository is.
	galleryLink = "gallery:"
)

// report is a report of the gallery.
type report struct {
	// method is the member of a test of a Benchmark.
	method string
	// page and anchor have the description of the method, and sample the Benchmark.
	page, anchor, sample string
	// line is the line of the table.
	line string
}

var galleryLine = regexp.MustCompile("(?m)^\\| \\[`(\\w+)`\\]\\(([^)]+)\\) \\| \\[[^\\]]+\\]\\(([^)]+)\\) \\|.*$")

// readGallery reads the table of methods.
func readGallery(root string) ([]report, error) {
	text, err := os.ReadFile(filepath.Join(root, galleryPage))
	if err != nil {
		return nil, err
	}
	var all []report
	for _, m := range galleryLine.FindAllStringSubmatch(string(text), -1) {
		r := report{method: m[1], line: m[0], sample: path.Join(path.Dir(galleryPage), m[3])}
		r.page, r.anchor, _ = strings.Cut(m[2], "#")
		r.page = path.Join(path.Dir(galleryPage), r.page)
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no table of methods", galleryPage)
	}
	return all, nil
}

// withReports adds the links to reports to the text of a page.
func (s *site) withReports(source, text string) string {
	for _, r := range s.reports {
		address := galleryLink + r.method + ".html"
		switch source {
		case galleryPage:
			linked := strings.Replace(r.line, "`](", "`]("+address+") ([method](", 1)
			text = strings.Replace(text, r.line, strings.Replace(linked, ") | ", ")) | ", 1), 1)
		case r.page:
			text = insertBelow(text, r.anchor, "[A report of `"+r.method+"`]("+address+"), from a simulated device.\n")
		}
	}
	return text
}

// insertBelow inserts a paragraph below the heading with an anchor, or below the title.
func insertBelow(text, anchor, paragraph string) string {
	lines := strings.SplitAfter(text, "\n")
	at := slices.IndexFunc(lines, func(line string) bool {
		if anchor == "" {
			return strings.HasPrefix(line, "# ")
		}
		return strings.TrimSpace(strings.TrimPrefix(line, "## ")) == anchor
	})
	if at < 0 {
		return text
	}
	return strings.Join(slices.Insert(lines, at+1, "\n"+paragraph), "")
}

// makeReports runs the samples of the gallery, and writes a report of each. Two run at a time.
func makeReports(ctx context.Context, o options, reports []report, folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	problems := make([]error, len(reports))
	var group sync.WaitGroup
	free := make(chan struct{}, 2)
	for i, r := range reports {
		group.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			problems[i] = makeReport(ctx, o, r, filepath.Join(folder, r.method+".html"))
		})
	}
	group.Wait()
	return errors.Join(problems...)
}

// makeReport runs a sample. A device that fails its test is an example, too.
func makeReport(ctx context.Context, o options, r report, file string) error {
	rows, err := os.MkdirTemp("", "nodrop-site-rows-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(rows)
	run := exec.CommandContext(ctx, o.nodrop, "run", "-f", filepath.Join(o.root, filepath.FromSlash(r.sample)), "-o", "html", "--output-file", file)
	run.Env = append(os.Environ(), "XDG_CACHE_HOME="+rows)
	text, err := run.CombinedOutput()
	if _, found := os.Stat(file); err != nil && (found != nil || ctx.Err() != nil) {
		return fmt.Errorf("running %s for the gallery: %w\n%s", r.sample, err, text)
	}
	return nil
}
