package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// mover is the CNI plugin that moves an interface by its name.
const mover = "host-device"

// cni does one command of the container runtime and returns the exit code. It
// passes the mover the interface's name, which Multus passes as the device's
// identity; all else is the mover's.
func cni(command string, config io.Reader, result io.Writer) int {
	text, err := io.ReadAll(config)
	if err != nil {
		return refuse(result, fmt.Errorf("reading the network's configuration: %w", err))
	}
	if command != "VERSION" {
		named, err := named(text)
		if errors.Is(err, errNoDevice) && command == "DEL" {
			return 0 // nothing was moved, so there is nothing to bring back
		}
		if err != nil {
			return refuse(result, err)
		}
		text = named
	}
	path, err := findPlugin(filepath.SplitList(os.Getenv("CNI_PATH")), mover)
	if err != nil {
		return refuse(result, err)
	}
	next := exec.Command(path)
	next.Stdin, next.Stdout, next.Stderr = bytes.NewReader(text), result, os.Stderr
	if err := next.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			return exit.ExitCode() // it has said why
		}
		return refuse(result, fmt.Errorf("running %s: %w", mover, err))
	}
	return 0
}

var errNoDevice = errors.New("the network has no deviceID: the NetworkAttachmentDefinition needs the annotation " +
	"k8s.v1.cni.cncf.io/resourceName, and a container of the pod must ask for one device of that resource for each such network")

// named is the mover's configuration for a configuration of ours.
func named(text []byte) ([]byte, error) {
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("reading the network's configuration: %w", err)
	}
	device, _ := config["deviceID"].(string)
	if device == "" {
		return nil, errNoDevice
	}
	config["type"], config["device"] = mover, device
	// Multus passes the identity under both names; the mover takes the second for a
	// PCI address.
	delete(config, "deviceID")
	delete(config, "pciBusID")
	return json.Marshal(config)
}

func findPlugin(folders []string, name string) (string, error) {
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("CNI plugin %s is in none of the folders %v", name, folders)
}

// refuse reports an error to the runtime as the CNI specification defines it; codes
// from 100 on are the plugin's own.
func refuse(result io.Writer, err error) int {
	_ = json.NewEncoder(result).Encode(map[string]any{"cniVersion": "1.0.0", "code": 100, "msg": err.Error()})
	return 1
}
