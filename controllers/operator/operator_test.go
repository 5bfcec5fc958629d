package operator

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"nodrop.dev/nodrop/controllers/kit"
	"nodrop.dev/nodrop/internal/lab/labobjects"
)

func TestValidate(t *testing.T) {
	good := Config{Namespace: "nodrop-system", Lab: labobjects.Settings{Namespace: "nodrop-lab", Image: "a", DeviceImage: "b", PullPolicy: corev1.PullNever}}
	if err := good.Validate(); err != nil {
		t.Errorf("a complete configuration: %v", err)
	}
	for flag, change := range map[string]func(*Config){
		"--namespace":          func(c *Config) { c.Namespace = "" },
		"--lab-namespace":      func(c *Config) { c.Lab.Namespace = "" },
		"--image":              func(c *Config) { c.Lab.Image = "" },
		"--device-image":       func(c *Config) { c.Lab.DeviceImage = "" },
		"--image-pull-policy":  func(c *Config) { c.Lab.PullPolicy = "Sometimes" },
		"--device-deadline":    func(c *Config) { c.Deadlines = kit.DefaultDeadlines(); c.Deadlines.Device = time.Second },
		"--bed-probe-interval": func(c *Config) { c.ProbeInterval = time.Second },
		"--clean-up-deadline":  func(c *Config) { c.Deadlines = kit.DefaultDeadlines(); c.Deadlines.CleanUp = 3 * time.Hour },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), flag+" ") {
			t.Errorf("error %v, want one about %s", err, flag)
		}
	}
	same := good
	same.Lab.Namespace = same.Namespace
	if err := same.Validate(); err == nil || !strings.Contains(err.Error(), "privileged pods need a namespace of their own") {
		t.Errorf("error %v for operator and lab in one namespace", err)
	}
	good.WebhookPort, good.WebhookCertDir = 9443, "/does/not/exist"
	if _, err := New(&rest.Config{}, good); err == nil || !strings.Contains(err.Error(), "--webhook-cert-dir") {
		t.Errorf("error %v, want one about --webhook-cert-dir", err)
	}
}
