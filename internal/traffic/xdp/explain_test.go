package xdp

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
)

// What keeps the programs from loading is named with the kernel and the remedy.
func TestExplainLoad(t *testing.T) {
	for name, tc := range map[string]struct {
		release string
		err     error
		want    string
	}{
		"no rights":  {"6.12.95+deb13-amd64", fmt.Errorf("map create: %w", unix.EPERM), "NET_ADMIN, NET_RAW, BPF and PERFMON"},
		"old":        {"5.10.0-30-amd64", &ebpf.VerifierError{Cause: unix.EINVAL}, "update to Linux 6.1"},
		"old no BTF": {"5.4.0-200-generic", ebpf.ErrNotSupported, "update to Linux 6.1"},
		"no BTF":     {"6.6.30", fmt.Errorf("apply CO-RE relocations: %w", fs.ErrNotExist), "CONFIG_DEBUG_INFO_BTF"},
		"verifier":   {"6.1.0-50-amd64", &ebpf.VerifierError{Cause: unix.EACCES}, "docs/kernels.md"},
		"odd":        {"next", errors.New("x"), "Linux 6.1 or later"},
	} {
		t.Run(name, func(t *testing.T) {
			err := kernel.ExplainLoad(tc.release, tc.err)
			if !errors.Is(err, tc.err) || !strings.Contains(err.Error(), "Linux "+tc.release) {
				t.Errorf("%v", err)
			}
			if !strings.Contains(hint.Of(err), tc.want) {
				t.Errorf("%v\nhint: %s\nwant %q", err, hint.Of(err), tc.want)
			}
		})
	}
}
