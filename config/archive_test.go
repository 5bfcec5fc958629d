package config

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestArchive checks where the operator keeps results, by the values of the chart.
func TestArchive(t *testing.T) {
	const directory = "--archive-url=file:///var/lib/nodrop/archive"
	for name, tc := range map[string]struct {
		values []string
		// url is the argument of the operator, if it has one.
		url string
		// claimed reports whether the chart makes a claim; volume is the operator's.
		claimed bool
		volume  string
		secret  string
		ttl     string
	}{
		"by default": {url: directory, claimed: true, volume: "persistentVolumeClaim"},
		"a volume of one's own": {
			values: []string{"--set-json", `archive.volume={"nfs":{"server":"nas","path":"/results"}}`}, url: directory, volume: "nfs",
		},
		"a volume at another path": {
			values: []string{"--set", "archive.path=/mnt/results"}, url: "--archive-url=file:///mnt/results", claimed: true, volume: "persistentVolumeClaim",
		},
		"values of a release without a path": {
			values: []string{"--set", "archive.path=null"}, url: directory, claimed: true, volume: "persistentVolumeClaim",
		},
		"a bucket": {
			values: []string{"--set", "archive.url=s3://results/lab?region=eu-central-1,archive.credentialsSecret=s3"},
			url:    "--archive-url=s3://results/lab?region=eu-central-1", secret: "s3",
		},
		"none": {values: []string{"--set", "archive.enabled=false"}},
		"with a time to live": {
			values: []string{"--set", "retention.ttlSecondsAfterFinished=31536000"},
			url:    directory, claimed: true, volume: "persistentVolumeClaim", ttl: "--ttl-seconds-after-finished=31536000",
		},
		"with a time to live of 0": {
			values: []string{"--set", "retention.ttlSecondsAfterFinished=0"},
			url:    directory, claimed: true, volume: "persistentVolumeClaim", ttl: "--ttl-seconds-after-finished=0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := chart(t, tc.values...)
			if err != nil {
				t.Fatal(err)
			}
			claimed := slices.ContainsFunc(objects, func(o object) bool { return o.GetKind() == "PersistentVolumeClaim" })
			if claimed != tc.claimed {
				t.Errorf("the chart makes a claim: %v", claimed)
			}
			deployment := find(t, objects, "Deployment", "nodrop-operator").Object
			containers, _, _ := unstructured.NestedSlice(deployment, "spec", "template", "spec", "containers")
			container := containers[0].(map[string]any)
			args := container["args"].([]any)
			for flag, want := range map[string]string{"--archive-url=": tc.url, "--ttl-seconds-after-finished=": tc.ttl} {
				if got := argument(args, flag); got != want {
					t.Errorf("the argument is %q, want %q", got, want)
				}
			}
			if got := archiveVolume(deployment); got != tc.volume {
				t.Errorf("the volume is %q, want %q", got, tc.volume)
			}
			mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
			for _, m := range mounts {
				if mount := m.(map[string]any); mount["name"] == "archive" && tc.url != fmt.Sprint("--archive-url=file://", mount["mountPath"]) {
					t.Errorf("the volume is mounted at %v, want the path of %q", mount["mountPath"], tc.url)
				}
			}
			from, _, _ := unstructured.NestedSlice(container, "envFrom")
			if tc.secret == "" && len(from) > 0 || tc.secret != "" && len(from) != 1 {
				t.Errorf("the environment comes from %v, want the Secret %q", from, tc.secret)
			}
		})
	}
	if _, err := chart(t, "--set", "archive.url=s3://user:password@results"); err == nil {
		t.Error("a URL with a password is accepted")
	}
}

// TestArchiveThatIsLost checks that the chart warns of an archive that ends with the operator's
// pod, and refuses to delete benchmarks whose results are only there.
func TestArchiveThatIsLost(t *testing.T) {
	const lost, warning = `archive.volume={"emptyDir":{}}`, "all results in it are lost with the operator's pod"
	notes := func(values ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), tool(t, "helm"), append([]string{"install", "nodrop", filepath.Join("..", "charts", "nodrop"),
			"--namespace", "nodrop-system", "--dry-run=client"}, values...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, notes, _ := strings.Cut(string(out), "NOTES:")
		return notes
	}
	if text := notes("--set-json", lost); !strings.Contains(text, warning) {
		t.Errorf("the notes do not warn of an emptyDir:\n%s", text)
	}
	for _, values := range [][]string{nil, {"--set", "archive.url=s3://results"}, {"--set-json", `archive.volume={"persistentVolumeClaim":{"claimName":"results"}}`}} {
		if text := notes(values...); strings.Contains(text, warning) {
			t.Errorf("with %v the notes warn of an emptyDir:\n%s", values, text)
		}
	}
	_, err := chart(t, "--set-json", lost, "--set", "retention.ttlSecondsAfterFinished=3600")
	if err == nil || !strings.Contains(err.Error(), "an emptyDir is lost with the operator's pod: set archive.url, or another archive.volume") {
		t.Errorf("benchmarks are deleted whose results are in an emptyDir: %v", err)
	}
}

// argument is the argument that begins with a flag.
func argument(args []any, flag string) string {
	for _, a := range args {
		if text := a.(string); len(text) > len(flag) && text[:len(flag)] == flag {
			return text
		}
	}
	return ""
}

// archiveVolume is the kind of the operator's volume for the archive.
func archiveVolume(deployment map[string]any) string {
	volumes, _, _ := unstructured.NestedSlice(deployment, "spec", "template", "spec", "volumes")
	for _, v := range volumes {
		volume := v.(map[string]any)
		if volume["name"] != "archive" {
			continue
		}
		for kind := range volume {
			if kind != "name" {
				return kind
			}
		}
	}
	return ""
}
