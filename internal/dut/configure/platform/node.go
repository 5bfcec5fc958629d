package platform

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/files"
)

// NodeLanguage returns the language of a node's configurations. It fails for settings that cannot work, with the name of the field.
func NodeLanguage(c *v1alpha1.NodeConfiguration) (configure.Language, error) {
	kind, err := Named(string(c.Platform))
	if err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	if c.Platform != v1alpha1.NodePlatformFiles {
		return kind.Language, nil
	}
	l := files.Language{Paths: c.Files, Reload: c.Reload}
	return l, l.Check()
}

// NodeDriver returns a driver for a node that runs in a container of this machine. It does not connect yet.
func NodeDriver(c *v1alpha1.NodeConfiguration, container string) (configure.Driver, error) {
	kind, err := Named(string(c.Platform))
	if err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	return kind.Driver(configure.Reach{Container: container, Files: c.Files, Reload: c.Reload})
}
