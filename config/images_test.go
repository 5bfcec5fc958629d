package config

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestImages checks which images the operator and the pods of runs have, by the values of the chart.
func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for name, tc := range map[string]struct{ tag, operator, device string }{
		"a tag":              {"v1", "localhost/nodrop:v1", "localhost/nodrop-device:v1"},
		"a digest":           {digest, "localhost/nodrop" + digest, "localhost/nodrop-device" + digest},
		"a tag and a digest": {"v1" + digest, "localhost/nodrop:v1" + digest, "localhost/nodrop-device:v1" + digest},
	} {
		objects, err := chart(t, "--set", "image.tag="+tc.tag+",deviceImage.tag="+tc.tag)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-operator").Spec.Template.Spec.Containers[0]
		if c.Image != tc.operator || !slices.Contains(c.Args, "--image="+tc.operator) || !slices.Contains(c.Args, "--device-image="+tc.device) {
			t.Errorf("%s: the image is %s, the arguments are %q", name, c.Image, c.Args)
		}
	}
}
