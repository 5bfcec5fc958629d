//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestGuides runs the commands of the guides for lab owners and teams, one section after the
// other; those of the second as a member of the team that the first has made.
func TestGuides(t *testing.T) {
	together(t)
	alone(t, &thePolicy)
	l, g := newLab(t), NewWithT(t)
	t.Cleanup(func() {
		for _, args := range [][]string{
			{"delete", "namespace", "team-optics", "--ignore-not-found", "--timeout=2m"},
			{"delete", "testbed", "core-switch", "--ignore-not-found", "--timeout=2m"},
			{"delete", "labpolicy", "lab", "--ignore-not-found"},
			{"delete", "configmap", "core-switch", "-n", labNamespace, "--ignore-not-found"},
			{"delete", "secret", "core-switch-access", "-n", labNamespace, "--ignore-not-found"},
		} {
			if out, err := l.kubectl(t, "", args...); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	dir := t.TempDir()
	l.guide(t, "lab-owner.md", dir)
	l.guide(t, "team.md", dir, "KUBECONFIG="+memberOf(t, dir, "ada", "optics"))
	var left v1alpha1.BenchmarkList
	g.Expect(l.List(t.Context(), &left, client.InNamespace("team-optics"))).To(Succeed())
	g.Expect(left.Items).To(BeEmpty())
}

// memberOf writes the kubeconfig of a user who has only the rights of a group.
func memberOf(t *testing.T, dir, user, group string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range config.AuthInfos {
		info.Impersonate, info.ImpersonateGroups = user, []string{group, "system:authenticated"}
	}
	file := filepath.Join(dir, user+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// guide runs the commands of all sections of a guide.
func (l *lab) guide(t *testing.T, name, dir string, env ...string) {
	t.Helper()
	text, err := os.ReadFile(l.path("docs", "guides", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		if title, _, _ := strings.Cut(s, "\n"); shellBlock.MatchString(s) {
			t.Logf("%s, %s:\n%s", name, title, l.section(t, name, title, dir, env...))
		}
	}
}

// section runs the commands of a section of a guide in a directory, and returns what they print.
func (l *lab) section(t *testing.T, name, title, dir string, env ...string) string {
	t.Helper()
	text, err := os.ReadFile(l.path("docs", "guides", name))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+title+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	blocks := shellBlock.FindAllStringSubmatch(rest, -1)
	if !found || len(blocks) == 0 {
		t.Fatalf("guide %s has no commands in a section %q", name, title)
	}
	script := "set -e -o pipefail\n"
	for _, block := range blocks {
		script += block[1]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("guide %s, section %q: %v\n%s", name, title, err, out)
	}
	return string(out)
}

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")
