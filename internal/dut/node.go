package dut

import (
	"context"
	"fmt"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
)

// configureNode gives the node its configuration through the container runtime, and reads it back. A node that rejects a line is left as it is:
// its topology is destroyed next.
func (c *Containerlab) configureNode(ctx context.Context) error {
	t, err := readTopology(c.Topology)
	if err != nil {
		return err
	}
	container, err := t.container(c.Node)
	if err != nil {
		return err
	}
	driver, err := platform.NodeDriver(&c.Configuration.NodeConfiguration, container)
	if err != nil {
		return err
	}
	language := driver.Language()
	wanted, err := configure.Whole(language, c.Configuration.Wanted)
	if err != nil {
		return err
	}
	base, err := configure.Whole(language, c.Configuration.Base)
	if err != nil {
		return fmt.Errorf("the base: %w", err)
	}
	record, err := configure.Apply(ctx, driver, wanted, 0)
	if err != nil {
		return err
	}
	c.configured = record.Summary(language, base)
	return nil
}
