//go:build release

package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// krew's own validation passes, and krew installs each platform from the archives.
func TestArtifactKrewManifest(t *testing.T) {
	folder, version := dist(t)
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	manifest := text(t, filepath.Join(folder, "krew", "nodrop.yaml"))
	if !strings.Contains(manifest, "version: v"+version+"\n") || strings.Count(manifest, "- bin: ") != 6 {
		t.Errorf("the manifest is not of version v%s with six platforms: %s", version, manifest)
	}
	local := filepath.Join(t.TempDir(), "nodrop.yaml")
	remote := regexp.MustCompile(`uri: https://\S*/`)
	must(t, os.WriteFile(local, []byte(remote.ReplaceAllString(manifest, "uri: "+server.URL+"/")), 0o600))

	cache := os.Getenv("NODROP_CACHE")
	tools := filepath.Join(cache, "tools", "release")
	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "validate-krew-manifest"), "-manifest", local)
	cmd.Env = []string{"PATH=" + tools + ":" + filepath.Join(cache, "k8s", "bin") + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir()}
	if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "all 6 spec.platforms installed fine") {
		t.Errorf("krew: %v\n%s", err, said)
	}
}

// The packaged chart runs the packaged image, and all have one version.
func TestArtifactChartAndImage(t *testing.T) {
	folder, version := dist(t)
	to := t.TempDir()
	shell(t, to, "tar", "-xf", filepath.Join(folder, "nodrop_"+version+"_image.oci.tar"), "-C", to)
	top, err := layout.ImageIndexFromPath(to)
	must(t, err)
	manifest, err := top.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v"+version {
		t.Fatalf("got %+v", manifest.Manifests)
	}
	digest := manifest.Manifests[0].Digest
	index, err := top.ImageIndex(digest)
	must(t, err)
	for _, arch := range []string{"amd64", "arm64"} {
		image := imageFor(t, index, arch)
		config, err := image.ConfigFile()
		must(t, err)
		if config.Config.Labels["org.opencontainers.image.version"] != "v"+version || config.Config.User != "65532:65532" {
			t.Errorf("%s: got %+v", arch, config.Config)
		}
		released := unpacked(t, archiveOf(t, "linux_"+arch))
		if got, want := programIn(t, image), sha256.Sum256([]byte(text(t, filepath.Join(released, "nodrop")))); got != hex.EncodeToString(want[:]) {
			t.Errorf("%s: the image has another program than the archive", arch)
		}
	}

	helm := filepath.Join(os.Getenv("NODROP_CACHE"), "k8s", "bin", "helm")
	chart := filepath.Join(folder, "nodrop-"+version+".tgz")
	if said := shell(t, to, helm, "show", "chart", chart); !strings.Contains(said, "version: "+version+"\n") || !strings.Contains(said, "appVersion: v"+version+"\n") {
		t.Errorf("the chart: %s", said)
	}
	if said := shell(t, to, helm, "template", "nodrop", chart); !strings.Contains(said, "nodrop@"+digest.String()) {
		t.Errorf("the chart does not run the image %s", digest)
	}
}

func imageFor(t *testing.T, index v1.ImageIndex, arch string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	must(t, err)
	for _, m := range manifest.Manifests {
		if m.Platform.Architecture == arch && m.Platform.OS == "linux" {
			image, err := index.Image(m.Digest)
			must(t, err)
			return image
		}
	}
	t.Fatalf("no image for %s", arch)
	return nil
}

// programIn returns the SHA-256 of the program in an image, which also has certificate authorities.
func programIn(t *testing.T, image v1.Image) (digest string) {
	t.Helper()
	layers, err := image.Layers()
	must(t, err)
	content, err := layers[0].Uncompressed()
	must(t, err)
	defer content.Close()
	authorities := int64(0)
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		switch header.Name {
		case "nodrop":
			sum := sha256.New()
			_, err := io.Copy(sum, archive)
			must(t, err)
			digest = hex.EncodeToString(sum.Sum(nil))
		case "etc/ssl/certs/ca-certificates.crt":
			authorities = header.Size
		}
	}
	if authorities < 100_000 {
		t.Errorf("certificate authorities: %d bytes", authorities)
	}
	return digest
}
