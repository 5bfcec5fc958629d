package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCNI runs the plugin before a fake host-device, which answers with the
// configuration that it received.
func TestCNI(t *testing.T) {
	const given = `{"cniVersion":"1.0.0","name":"nics","type":"nodrop-nic","ipam":{},"deviceID":"nd-nic1","pciBusID":"nd-nic1"}`
	const moved = `{"cniVersion":"1.0.0","device":"nd-nic1","ipam":{},"name":"nics","type":"host-device"}`
	for name, c := range map[string]struct {
		command, config, mover string
		code                   int
		want                   string
	}{
		"moves what Multus names":          {"ADD", given, "cat", 0, moved},
		"brings it back":                   {"DEL", given, "cat", 0, moved},
		"reports the mover's versions":     {"VERSION", `{"cniVersion":"1.0.0"}`, "cat", 0, `{"cniVersion":"1.0.0"}`},
		"fails as the mover does":          {"ADD", given, "cat; exit 3", 3, moved},
		"says what is missing":             {"ADD", `{"type":"nodrop-nic"}`, "cat", 1, "k8s.v1.cni.cncf.io/resourceName"},
		"has nothing to bring back":        {"DEL", `{"type":"nodrop-nic"}`, "cat", 0, ""},
		"says that the mover is not there": {"ADD", given, "", 1, "host-device is in none of the folders"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			t.Setenv("CNI_PATH", folder)
			if c.mover != "" {
				if err := os.WriteFile(filepath.Join(folder, mover), []byte("#!/bin/sh\n"+c.mover+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			var result bytes.Buffer
			if code := cni(c.command, strings.NewReader(c.config), &result); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := result.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("result %q, want %q", got, c.want)
			}
			if result.Len() > 0 && !json.Valid(result.Bytes()) {
				t.Errorf("result %q is not JSON", result.String())
			}
		})
	}
}
