//go:build release

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	// duringUpgrade is the number of benchmarks that wait or run while the operator is replaced.
	duringUpgrade = 12
	// sampleRows is the number of rows of the sample: eight frame sizes, a throughput and latencies at four loads.
	sampleRows = 8 * (1 + 4)
)

// The packaged chart installs the packaged image in a cluster, and the program of the archive runs a benchmark
// there. With the artifacts of an earlier release, these are installed first and upgraded while benchmarks
// run: results of both versions stay readable.
//
// hack/release/test-cluster runs this in the node of a local cluster.
func TestInstalledArtifacts(t *testing.T) {
	folder, version := dist(t)
	now := unpack(t, folder, version)
	images := newRegistry(t)
	applyNamespaces(t)
	folder = os.Getenv("NODROP_RELEASE_EARLIER")
	if folder == "" {
		now.install(t, images)
		now.apply(t, "first")
		now.expectMeasured(t, "first")
		return
	}
	before := unpack(t, folder, versionIn(t, folder))
	before.install(t, images)
	before.apply(t, "first")
	before.expectMeasured(t, "first")
	for i := range duringUpgrade {
		before.apply(t, fmt.Sprintf("during-%d", i))
	}
	now.install(t, images)
	for i := range duringUpgrade {
		now.expectMeasured(t, fmt.Sprintf("during-%d", i))
	}
	now.apply(t, "last")
	for _, benchmark := range []string{"first", "last"} {
		now.expectMeasured(t, benchmark)
	}
}

// release contains the artifacts of a version.
type release struct {
	folder, version string
	// content is a folder with the content of the archive for this machine.
	content string
}

func unpack(t *testing.T, folder, version string) release {
	t.Helper()
	return release{folder, version, unpacked(t, filepath.Join(folder, "nodrop_"+version+"_linux_amd64.tar.gz"))}
}

// newRegistry starts a registry for images in the node, and returns its address.
func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// applyNamespaces makes the namespaces of the operator and of the team. Neither may run privileged pods.
func applyNamespaces(t *testing.T) {
	t.Helper()
	for _, name := range []string{"nodrop-system", "team-routing"} {
		kubectl(t, "create", "namespace", name)
		kubectl(t, "label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
	}
}

// install pushes the image as it is, installs or upgrades the chart, and checks that the operator runs that image.
func (r release) install(t *testing.T, images string) {
	t.Helper()
	digest := r.push(t, images)
	shell(t, r.folder, "helm", "upgrade", "--install", "nodrop", filepath.Join(r.folder, "nodrop-"+r.version+".tgz"), "--namespace", "nodrop-system",
		"--set", "image.repository="+images+"/nodrop", "--set-json", `archive.volume={"emptyDir":{}}`, "--wait", "--timeout", "5m")
	ids := kubectl(t, "get", "pods", "-n", "nodrop-system", "-l", "app.kubernetes.io/component=operator", "-o", "jsonpath={.items[*].status.containerStatuses[*].imageID}")
	if !strings.Contains(ids, digest) {
		t.Errorf("the operator of %s runs %s, want the image %s", r.version, ids, digest)
	}
	if said := kubectl(t, "get", "deployments", "-n", "nodrop-system", "-o", "jsonpath={.items[*].metadata.labels.app\\.kubernetes\\.io/version}"); !strings.Contains(said, "v"+r.version) {
		t.Errorf("the operator has the version %s, want v%s", said, r.version)
	}
}

// push copies the image to a registry as it is in the archive, and returns its digest.
func (r release) push(t *testing.T, images string) string {
	t.Helper()
	to := t.TempDir()
	shell(t, to, "tar", "-xf", filepath.Join(r.folder, "nodrop_"+r.version+"_image.oci.tar"), "-C", to)
	top, err := layout.ImageIndexFromPath(to)
	must(t, err)
	manifest, err := top.IndexManifest()
	must(t, err)
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	must(t, err)
	reference, err := name.ParseReference(images+"/nodrop:v"+r.version, name.Insecure)
	must(t, err)
	must(t, remote.WriteIndex(reference, index))
	return manifest.Manifests[0].Digest.String()
}

// apply applies the sample of the archive, with a benchmark of this name. The webhooks answer a moment after the
// operator is ready.
func (r release) apply(t *testing.T, benchmark string) {
	t.Helper()
	samples := t.TempDir()
	must(t, os.CopyFS(samples, os.DirFS(filepath.Join(r.content, "samples", "sim"))))
	replace(t, filepath.Join(samples, "3-benchmark.yaml"), "name: nexus9508-ipv4\n", "name: "+benchmark+"\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		said, err := exec.CommandContext(ctx, "kubectl", "apply", "-f", samples).CombinedOutput()
		if err == nil {
			return
		}
		if ctx.Err() != nil || !strings.Contains(string(said), "failed calling webhook") {
			t.Fatalf("kubectl apply of the samples: %v\n%s", err, said)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// expectMeasured follows a benchmark to its end and expects each row of the sample once.
func (r release) expectMeasured(t *testing.T, benchmark string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.content, "nodrop"), "watch", benchmark, "-n", "team-routing", "--timeout", "5m", "-o", "json")
	var progress strings.Builder
	cmd.Stderr = &progress
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", benchmark, err, said, &progress)
	}
	var document struct {
		Rows []map[string]any `json:"rows"`
	}
	must(t, json.Unmarshal(said, &document))
	rows := map[string]bool{}
	for _, row := range document.Rows {
		rows[fmt.Sprint(row["test"], row["frameSize"], row["load"])] = true
	}
	if len(rows) != sampleRows || len(document.Rows) != sampleRows {
		t.Errorf("%s has %d rows, of which %d differ; want %d: %s", benchmark, len(document.Rows), len(rows), sampleRows, said)
	}
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return shell(t, t.TempDir(), "kubectl", args...)
}
