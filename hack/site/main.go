// Command site builds the documentation site from the Markdown files of this repository, with Hugo: pages, the files that they
// link to, one report per method, and the index of the search.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// options are the folders and programs of a build.
type options struct {
	// root is the root of the repository, and out the folder that the site is written to.
	root, out string
	// hugo and nodrop are programs. Without nodrop no reports are made.
	hugo, nodrop string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "..", "the root of the repository")
	flag.StringVar(&o.out, "out", "../.state/site", "the folder for the site; what it has is removed")
	flag.StringVar(&o.hugo, "hugo", "hugo", "the program Hugo, which hack/site/build builds")
	flag.StringVar(&o.nodrop, "nodrop", "", "the program nodrop, which makes the reports of the gallery")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := build(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		stop()
		os.Exit(1)
	}
}

// build writes the site.
func build(ctx context.Context, o options) error {
	if o.nodrop == "" {
		return errors.New("no program nodrop: give -nodrop")
	}
	work, err := os.MkdirTemp("", "nodrop-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	s, err := collect(o.root)
	if err != nil {
		return err
	}
	if err := s.write(work); err != nil {
		return err
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	out, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	theme, err := filepath.Abs(filepath.Join(o.root, "hack", "site", "theme"))
	if err != nil {
		return err
	}
	hugo := exec.CommandContext(ctx, o.hugo, "--source", theme, "--contentDir", filepath.Join(work, "content"), "--destination", out,
		"--cacheDir", filepath.Join(work, "cache"), "--noBuildLock", "--panicOnWarning")
	hugo.Env = append(os.Environ(), "HUGO_DATADIR="+filepath.Join(work, "data"), "HUGO_RESOURCEDIR="+filepath.Join(work, "resources"))
	if text, err := hugo.CombinedOutput(); err != nil {
		return fmt.Errorf("running Hugo: %w\n%s", err, text)
	}
	for _, file := range s.static {
		if err := copyFile(filepath.Join(o.root, file.source), filepath.Join(out, filepath.FromSlash(file.url))); err != nil {
			return err
		}
	}
	if err := makeReports(ctx, o, s.reports, filepath.Join(out, galleryFolder)); err != nil {
		return err
	}
	return writeIndex(out)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
