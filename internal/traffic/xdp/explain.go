package xdp

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/version"

	"nodrop.dev/nodrop/internal/hint"
)

// oldestKernel is the oldest release that the programs are tested on.
var oldestKernel = version.MustParseGeneric("6.1")

// explainLoad names the kernel, the feature that is missing and the remedy when the BPF
// programs do not load. Releases of distributions may have features of later kernels, so
// the release alone is no reason to refuse.
func explainLoad(release string, err error) error {
	err = fmt.Errorf("loading the BPF programs on Linux %s: %w", release, err)
	v, parsing := version.ParseGeneric(release)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES) && !errors.As(err, new(*ebpf.VerifierError)):
		return hint.With(err, "run as root, or with the capabilities NET_ADMIN, NET_RAW, BPF and PERFMON")
	case parsing == nil && v.LessThan(oldestKernel):
		return hint.With(err, "the kernel is too old for the engine xdp, which sends live frames by BPF_PROG_RUN: update to Linux 6.1 or later, or use the engine trex")
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, fs.ErrNotExist):
		return hint.With(err, "the kernel has no BTF (/sys/kernel/btf/vmlinux) or lacks a BPF feature: use a kernel of a distribution, with CONFIG_DEBUG_INFO_BTF")
	}
	return hint.With(err, "needs the capabilities NET_ADMIN, NET_RAW, BPF and PERFMON, and Linux 6.1 or later with BTF; docs/kernels.md lists the kernels that pass")
}
