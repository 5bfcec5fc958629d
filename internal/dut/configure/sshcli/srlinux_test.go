package sshcli

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scrapli/scrapligo/assets"
	"go.yaml.in/yaml/v3"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/testkit/fakenos"
)

// TestSRLinuxPrompts compares prompts and the preparation of the terminal with the platform of scrapligo.
func TestSRLinuxPrompts(t *testing.T) {
	t.Parallel()
	content, err := assets.Assets.ReadFile("platforms/nokia_srl.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var platform struct {
		Default struct {
			Levels map[string]struct {
				Pattern string
			} `yaml:"privilege-levels"`
			Open []struct {
				Command string
			} `yaml:"network-on-open"`
		}
	}
	if err := yaml.Unmarshal(content, &platform); err != nil {
		t.Fatal(err)
	}
	var setup []string
	for _, step := range platform.Default.Open {
		if step.Command != "" {
			setup = append(setup, step.Command)
		}
	}
	if want := strings.Join(setup, "\n"); strings.Join(SRLinux.setup, "\n") != want {
		t.Errorf("the terminal is prepared by %q, want %q", SRLinux.setup, want)
	}
	for _, prompt := range []string{
		"--{ running }--[  ]--\nA:srl#",
		"--{ + running }--[ interface ethernet-1/1 subinterface 1 ]--\nA:admin@leaf-1# ",
		"--{ [YANG RELOAD] [FACTORY] running }--[  ]--\nA:r2# ",
		"--{ candidate shared-exclusive default }--[ platform ]--\nB:srl#",
		"--{ [FACTORY] * candidate private private-root }--[  ]--\nA:r2# ",
		"--{ +* candidate private nodrop }--[  ]--\nA:dut# ",
	} {
		known := false
		for _, level := range platform.Default.Levels {
			known = known || regexp.MustCompile(level.Pattern).MatchString("\n"+prompt)
		}
		for _, text := range []string{prompt, "a line\n\n" + prompt, prompt + "\nCurrent mode: running"} {
			if !known || !SRLinux.prompt.MatchString(text) {
				t.Errorf("%q is no prompt", text)
			}
		}
	}
	for _, text := range []string{"A:srl#", "--{ running }--[  ]--", "--{ running }--[  ]--\nA:srl# info", "--{ running }--\nA:srl#"} {
		if SRLinux.prompt.MatchString(text) {
			t.Errorf("%q is a prompt", text)
		}
	}
}

// TestSRLinuxMessages distinguishes rejections from other answers, and the commits of NoDrop from others.
func TestSRLinuxMessages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Error: Cannot commit transaction (commit confirmed in progress)":                                              true,
		"Parsing error: Unknown token 'information'":                                                                   true,
		"Nothing to discard. Leaving candidate mode.":                                                                  false,
		"Commit confirmed (automatic rollback in 2 minutes)\nAll changes have been committed. Leaving candidate mode.": false,
		`insert / interface ethernet-1/1 description "an error: none"`:                                                 false,
	} {
		if SRLinux.rejected.MatchString(text) != want {
			t.Errorf("%q is taken for something else", text)
		}
	}
	entry := func(name, status string) string {
		return "    system {\n        configuration {\n            commit 1 {\n                type private\n                name " + name + "\n                status " + status + "\n                username admin\n            }\n        }\n    }"
	}
	for text, want := range map[string]bool{
		entry("nodrop", "unconfirmed"):                                 true,
		entry("nodrop", "publishing"):                                  true,
		entry("nodrop", "complete"):                                    false,
		entry("nodrop", "failed"):                                      false,
		entry("private-admin", "unconfirmed"):                          false,
		entry("nodrop", "complete") + "\n" + entry("a", "unconfirmed"): false,
	} {
		if SRLinux.transaction.pending.MatchString(text) != want {
			t.Errorf("%q is taken for something else", text)
		}
	}
}

// TestSRLinuxInvalid has SR Linux reject a commit, and not one of its lines: the candidate is discarded.
func TestSRLinuxInvalid(t *testing.T) {
	f := fakenos.Start(t, "nokia_srl")
	base := f.Running()
	driver, err := New(SRLinux, f.Access())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	have, err := configure.Read(ctx, driver)
	if err != nil {
		t.Fatal(err)
	}
	var rejected *configure.RejectedError
	record, err := configure.Apply(ctx, driver, have+"set / network-instance default interface ethernet-1/9.0\n", time.Minute)
	if !errors.As(err, &rejected) || rejected.Command != "commit confirmed timeout 120" || !strings.Contains(rejected.Text, "the subinterface does not exist") || !record.RolledBack {
		t.Errorf("%v, rolled back: %v", err, record.RolledBack)
	}
	if now := f.Running(); now != base {
		t.Errorf("the device has\n%s\nwant\n%s", now, base)
	}
	if out := f.Enter([]string{enterSRLinux, "diff flat"}); strings.Contains(out, "not empty") {
		t.Errorf("a candidate is left: %s", out)
	}
}
