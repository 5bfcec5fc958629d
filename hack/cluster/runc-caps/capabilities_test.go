package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMissingCapabilities(t *testing.T) {
	for name, test := range map[string]struct {
		status string
		want   []string
		fails  bool
	}{
		"all there":      {status: "Name:\tx\nCapBnd:\t000001ffffffffff\n"},
		"no resource":    {status: "CapBnd:\t000001fffeffffff\n", want: []string{"CAP_SYS_RESOURCE"}},
		"first and last": {status: "CapBnd:\t000000fffffffffe\n", want: []string{"CAP_CHOWN", "CAP_CHECKPOINT_RESTORE"}},
		"no such line":   {status: "CapEff:\t000001ffffffffff\n", fails: true},
		"no number":      {status: "CapBnd:\tall\n", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "status")
			if err := os.WriteFile(file, []byte(test.status), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := missingCapabilities(file)
			if (err != nil) != test.fails || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v, failure %t", got, err, test.want, test.fails)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	missing := []string{"CAP_SYS_RESOURCE"}
	for name, test := range map[string]struct {
		args       []string // of runc; FILE and DIR stand for the description and its folder
		file       string
		have, want string
	}{
		"a new container": {
			args: []string{"--root", "/r", "create", "--bundle", "DIR", "--pid-file", "/p", "id"}, file: "config.json",
			have: `{"process":{"capabilities":{"bounding":["CAP_KILL","CAP_SYS_RESOURCE"],"effective":["CAP_SYS_RESOURCE"]}},"limit":9223372036854775807}`,
			want: `{"limit":9223372036854775807,"process":{"capabilities":{"bounding":["CAP_KILL"],"effective":[]}}}`,
		},
		"an exec": {
			args: []string{"exec", "--process=FILE", "id"}, file: "process.json",
			have: `{"capabilities":{"permitted":["CAP_SYS_RESOURCE","CAP_BPF"]}}`,
			want: `{"capabilities":{"permitted":["CAP_BPF"]}}`,
		},
		"no capabilities asked for": {
			args: []string{"exec", "--process", "FILE", "id"}, file: "process.json",
			have: `{"args":["sh"]}`, want: `{"args":["sh"]}`,
		},
		"another command": {
			args: []string{"state", "FILE"}, file: "process.json",
			have: `{"capabilities":{"bounding":["CAP_SYS_RESOURCE"]}}`,
			want: `{"capabilities":{"bounding":["CAP_SYS_RESOURCE"]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, test.file)
			if err := os.WriteFile(file, []byte(test.have), 0o600); err != nil {
				t.Fatal(err)
			}
			replace := map[string]string{"DIR": dir, "FILE": file, "--process=FILE": "--process=" + file}
			for i, arg := range test.args {
				if path, ok := replace[arg]; ok {
					test.args[i] = path
				}
			}
			for _, d := range descriptions(test.args) {
				if err := d.remove(missing); err != nil {
					t.Fatal(err)
				}
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(got) || string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
