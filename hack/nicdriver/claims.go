package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// claim contains the fields of a ResourceClaim that the driver reads.
type claim struct {
	Metadata struct {
		Name        string
		UID         string
		Annotations map[string]string
	}
	Status struct {
		Allocation struct {
			Devices struct {
				Results []struct{ Driver, Pool, Device, Request string }
			}
		}
	}
}

// interfaceName is the name by which the pod calls the claim: Kubernetes notes it
// on claims that it makes of a template.
func (c *claim) interfaceName() string {
	if name := c.Metadata.Annotations["resource.kubernetes.io/pod-claim-name"]; name != "" {
		return name
	}
	return c.Metadata.Name
}

func readClaim(ctx context.Context, namespace, name string) (*claim, error) {
	text, err := kubectl(ctx, nil, "get", "resourceclaim", name, "--namespace", namespace, "-o", "json")
	if err != nil {
		return nil, fmt.Errorf("reading claim %s/%s: %w", namespace, name, err)
	}
	c := &claim{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("reading claim %s/%s: %w", namespace, name, err)
	}
	return c, nil
}

// publish publishes the interfaces for the scheduler.
func (d *driver) publish(ctx context.Context, names []string) error {
	type object map[string]any
	var devices []object
	for _, name := range names {
		devices = append(devices, object{"name": name})
	}
	text, err := json.Marshal(object{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": object{"name": d.slice()},
		"spec": object{
			"driver": d.name, "nodeName": d.node, "devices": devices,
			"pool": object{"name": d.node, "generation": 1, "resourceSliceCount": 1},
		},
	})
	if err != nil {
		return fmt.Errorf("writing the ResourceSlice: %w", err)
	}
	if _, err := kubectl(ctx, text, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("publishing the interfaces: %w", err)
	}
	return nil
}

func (d *driver) withdraw(ctx context.Context) error {
	if _, err := kubectl(ctx, nil, "delete", "resourceslice", d.slice(), "--ignore-not-found"); err != nil {
		return fmt.Errorf("withdrawing the interfaces: %w", err)
	}
	return nil
}

func (d *driver) slice() string { return d.node + "-" + d.name }

func kubectl(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "kubectl", args...)
	var said bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out, nil
}
