package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newLayer packs the SOURCE=TARGET pairs into one uncompressed layer: it is
// read on the machine that wrote it, so compressing it would only cost time.
func newLayer(content []string) (v1.Layer, error) {
	var packed bytes.Buffer
	p := packer{archive: tar.NewWriter(&packed), folders: map[string]bool{"": true}}
	for _, pair := range content {
		source, target, found := strings.Cut(pair, "=")
		if !found || !path.IsAbs(target) {
			return nil, fmt.Errorf("%q is not SOURCE=/TARGET", pair)
		}
		if err := p.add(source, strings.TrimPrefix(path.Clean(target), "/")); err != nil {
			return nil, fmt.Errorf("packing %s: %w", source, err)
		}
	}
	if err := p.archive.Close(); err != nil {
		return nil, fmt.Errorf("finishing the layer: %w", err)
	}
	return static.NewLayer(packed.Bytes(), types.DockerUncompressedLayer), nil
}

// packer writes a layer and remembers the folders it has.
type packer struct {
	archive *tar.Writer
	folders map[string]bool
}

// add packs a file under the name target, or a folder's content below it.
func (p *packer) add(source, target string) error {
	return filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		// Made inside a folder: keep its owners. Taken one by one: root's.
		keepOwner := relative != "."
		name := path.Join(target, filepath.ToSlash(relative))
		if name == "." {
			return nil
		}
		if err := p.parents(path.Dir(name)); err != nil {
			return err
		}
		return p.entry(file, name, info, keepOwner)
	})
}

// parents adds the folders above an entry that no source brought.
func (p *packer) parents(folder string) error {
	if folder == "." || p.folders[folder] {
		return nil
	}
	if err := p.parents(path.Dir(folder)); err != nil {
		return err
	}
	p.folders[folder] = true
	return p.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755})
}

func (p *packer) entry(file, name string, info fs.FileInfo, keepOwner bool) error {
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		var err error
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	}
	found, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	// Times and names of users are left out: equal files make equal layers.
	header := &tar.Header{Typeflag: found.Typeflag, Name: name, Linkname: found.Linkname, Size: found.Size, Mode: found.Mode}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && keepOwner {
		header.Uid, header.Gid = int(stat.Uid), int(stat.Gid)
	}
	if info.IsDir() {
		if p.folders[name] {
			return nil
		}
		p.folders[name] = true
		header.Name += "/"
	}
	if err := p.archive.WriteHeader(header); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(p.archive, in)
	return err
}
