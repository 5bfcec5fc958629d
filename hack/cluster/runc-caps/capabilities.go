package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// names of the capabilities by their number (linux/capability.h).
var names = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
	"SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
	"SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
	"MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
	"CHECKPOINT_RESTORE",
}

// missingCapabilities returns the capabilities that are missing from the bounding set in a
// /proc/PID/status file.
func missingCapabilities(status string) ([]string, error) {
	content, err := os.ReadFile(status)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		value, found := strings.CutPrefix(line, "CapBnd:")
		if !found {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("reading the bounding set: %w", err)
		}
		var missing []string
		for number, name := range names {
			if set&(1<<number) == 0 {
				missing = append(missing, "CAP_"+name)
			}
		}
		return missing, nil
	}
	return nil, fmt.Errorf("%s has no CapBnd line", status)
}

// description is a file with a process in it that runc will start.
type description struct {
	file string
	path []string // the keys that lead to the process's capabilities
}

// descriptions finds the files that a command line of runc's names: the bundle
// of a new container, the process of an exec.
func descriptions(args []string) []description {
	var found []description
	for i, arg := range args {
		flag, value, inOne := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		if !inOne && i+1 < len(args) {
			value = args[i+1]
		}
		switch flag {
		case "bundle", "b":
			found = append(found, description{filepath.Join(value, "config.json"), []string{"process", "capabilities"}})
		case "process", "p":
			found = append(found, description{value, []string{"capabilities"}})
		}
	}
	return found
}

// remove takes capabilities out of the file and leaves all else as it is.
func (d description) remove(missing []string) error {
	content, err := os.ReadFile(d.file)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // 64-bit limits do not survive as floats
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return err
	}
	sets := document
	for _, key := range d.path {
		next, ok := sets[key].(map[string]any)
		if !ok {
			return nil // the process asks for none
		}
		sets = next
	}
	for kind, value := range sets {
		if set, ok := value.([]any); ok {
			sets[kind] = slices.DeleteFunc(set, func(name any) bool {
				text, _ := name.(string)
				return slices.Contains(missing, text)
			})
		}
	}
	if content, err = json.Marshal(document); err != nil {
		return err
	}
	return os.WriteFile(d.file, content, 0o600)
}
