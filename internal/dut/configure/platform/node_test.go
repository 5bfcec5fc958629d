package platform

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestNodePlatforms has a driver for each platform that a TestBed may name for a container, and none for others.
func TestNodePlatforms(t *testing.T) {
	t.Setenv("DOCKER_HOST", "")
	of := map[v1alpha1.NodePlatform]bool{}
	for _, name := range v1alpha1.NodePlatforms {
		of[name] = true
		c := &v1alpha1.NodeConfiguration{Platform: name}
		if name == v1alpha1.NodePlatformFiles {
			c.Files, c.Reload = []string{"/etc/a"}, "true"
		}
		l, err := NodeLanguage(c)
		if err != nil || l == nil {
			t.Errorf("%s: %v", name, err)
		}
		if d, err := NodeDriver(c, "dut"); err != nil || d.Language() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(of) != 5 {
		t.Errorf("%d platforms", len(of))
	}
	for want, c := range map[string]*v1alpha1.NodeConfiguration{
		`platform: Unsupported value: "ios"`:     {Platform: "ios"},
		"files: Required value":                  {Platform: v1alpha1.NodePlatformFiles},
		`files: "/a/../b": Invalid value`:        {Platform: v1alpha1.NodePlatformFiles, Files: []string{"/a/../b"}, Reload: "true"},
		"reload: Required value: give the comma": {Platform: v1alpha1.NodePlatformFiles, Files: []string{"/a"}},
	} {
		if _, err := NodeLanguage(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := NodeDriver(c, "dut"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
