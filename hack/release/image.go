package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func imageCommand(flags *flag.FlagSet) run {
	out := flags.String("o", "", "archive `file` to write, an OCI image layout")
	name := flags.String("name", "", "`reference` of the image, with its tag")
	version := flags.String("version", "", "`version` of the program")
	commit := flags.String("commit", "", "`commit` of the release")
	return func(binaries []string) error {
		at, err := commitTime()
		if err != nil {
			return err
		}
		if *out == "" || *name == "" || len(binaries) == 0 {
			return errors.New("give -o, -name and a binary for each architecture")
		}
		labels := map[string]string{
			"org.opencontainers.image.title": "NoDrop", "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version": *version, "org.opencontainers.image.revision": *commit,
			"org.opencontainers.image.created": at.Format(time.RFC3339),
		}
		all, err := newImages(binaries, labels, at)
		if err != nil {
			return err
		}
		digest, err := all.Digest()
		if err != nil {
			return err
		}
		fmt.Println(digest)
		return writeArchive(*out, *name, all, at)
	}
}

// newImages returns an index with an image for the architecture of each binary.
func newImages(binaries []string, labels map[string]string, at time.Time) (v1.ImageIndex, error) {
	all := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, binary := range binaries {
		l, err := read(binary)
		if err != nil {
			return nil, err
		}
		platform := v1.Platform{OS: l.Settings["GOOS"], Architecture: l.Settings["GOARCH"]}
		image, err := newImage(binary, platform, labels, at)
		if err != nil {
			return nil, fmt.Errorf("the image for %s: %w", platform, err)
		}
		all = mutate.AppendManifests(all, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return all, nil
}

// newImage returns an image with a program, and the certificate authorities that Mozilla trusts.
func newImage(binary string, platform v1.Platform, labels map[string]string, at time.Time) (v1.Image, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	for _, f := range []tar.Header{
		{Name: "etc/", Mode: 0o755}, {Name: "etc/ssl/", Mode: 0o755}, {Name: "etc/ssl/certs/", Mode: 0o755},
		{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, {Name: "nodrop", Mode: 0o755}, {Name: "tmp/", Mode: 0o1777},
	} {
		body := map[string][]byte{"etc/ssl/certs/ca-certificates.crt": authorities(), "nodrop": content}[f.Name]
		f.Size, f.ModTime, f.Typeflag = int64(len(body)), at, tar.TypeReg
		if strings.HasSuffix(f.Name, "/") {
			f.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(&f); err != nil {
			return nil, err
		}
		if _, err := archive.Write(body); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "make release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = platform.OS, platform.Architecture, v1.Time{Time: at}
	config.Config = v1.Config{
		User: "65532:65532", Entrypoint: []string{"/nodrop"}, Labels: labels,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}
	return mutate.ConfigFile(image, config)
}

// authorities returns the certificates of authorities in PEM.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return text.Bytes()
}

// writeArchive writes an index as an OCI image layout in a tar archive, under a name.
func writeArchive(out, name string, all v1.ImageIndex, at time.Time) error {
	folder, err := os.MkdirTemp(filepath.Dir(out), ".image")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	_, tag, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "" {
		return fmt.Errorf("-name %q has no tag", name)
	}
	err = path.AppendIndex(all, layout.WithAnnotations(map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}))
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	return errors.Join(pack(file, folder, at), file.Close())
}

// pack writes the files of a folder as a tar archive, in order.
func pack(out io.Writer, folder string, at time.Time) error {
	archive, files := tar.NewWriter(out), os.DirFS(folder)
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: at})
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: at}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	return errors.Join(err, archive.Close())
}
