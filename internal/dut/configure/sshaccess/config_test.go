package sshaccess

import (
	"strings"
	"testing"
)

// TestHostKeys reads files of host keys in the forms that OpenSSH writes.
func TestHostKeys(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
	for file, want := range map[string]string{
		key + " a comment\n":      "",
		"192.0.2.1 " + key + "\n": "",
		"[192.0.2.1]:2222 " + key: "",
		"\n" + key + "\n\n":       "",
		"# 192.0.2.1:22 SSH-2.0-OpenSSH_9.2\n192.0.2.1 " + key + "\n": "",
		"# nothing\n":               "host keys: Required value",
		key + "\nnonsense\n":        "host keys: ",
		"192.0.2.1 ssh-ed25519 x\n": "host keys: ",
	} {
		err := (&Config{Address: "192.0.2.1:22", Password: "x", HostKeys: []byte(file)}).Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}
