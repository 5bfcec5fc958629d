// Command image makes a container image from files alone: no base image, no
// registry, no Dockerfile. The archive it writes is loaded by "ctr images
// import" and by "docker load".
//
//	image -name localhost/nodrop:dev -user 65532:65532 -entrypoint /nodrop -o nodrop.tar bin/nodrop=/nodrop
//
// Each argument is SOURCE=TARGET: a file, or a folder whose content goes under
// TARGET. The same files make the same image: times are zero, order is sorted.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	var s settings
	flag.StringVar(&s.name, "name", "", "image `reference`; with a host part such as localhost/, or a runtime will try to pull it")
	flag.StringVar(&s.output, "o", "", "archive `file` to write")
	flag.StringVar(&s.user, "user", "", "numeric `uid:gid` to run as (default root)")
	flag.StringVar(&s.entrypoint, "entrypoint", "", "`program` that always runs")
	flag.StringVar(&s.command, "cmd", "", "`program` that runs unless another is given")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: image -name REFERENCE -o FILE [flags] SOURCE=TARGET...")
		flag.PrintDefaults()
	}
	flag.Parse()
	s.content = flag.Args()
	if err := s.write(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// settings are the command line.
type settings struct {
	name, output, user, entrypoint, command string
	content                                 []string // SOURCE=TARGET
}

func (s settings) write() error {
	if s.name == "" || s.output == "" || len(s.content) == 0 {
		return fmt.Errorf("-name, -o and at least one SOURCE=TARGET are needed")
	}
	// The library's own strict mode does not know that localhost is a host.
	if host, rest, _ := strings.Cut(s.name, "/"); host == "" || !strings.Contains(rest, ":") {
		return fmt.Errorf("-name %q is not HOST/NAME:TAG", s.name)
	}
	tag, err := name.NewTag(s.name)
	if err != nil {
		return fmt.Errorf("reading -name: %w", err)
	}
	image, err := s.image()
	if err != nil {
		return err
	}
	// A reader never sees half an archive under the final name.
	partial := s.output + ".partial"
	defer func() { _ = os.Remove(partial) }()
	if err := tarball.WriteToFile(partial, tag, image); err != nil {
		return fmt.Errorf("writing %s: %w", partial, err)
	}
	return os.Rename(partial, s.output)
}

func (s settings) image() (v1.Image, error) {
	layer, err := newLayer(s.content)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("adding the files: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	file.Config.User = s.user
	file.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	file.Config.Entrypoint = strings.Fields(s.entrypoint)
	file.Config.Cmd = strings.Fields(s.command)
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, fmt.Errorf("setting the image's configuration: %w", err)
	}
	return image, nil
}
