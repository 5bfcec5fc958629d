//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/hypervisor"
)

// Finding is the result of a check of this computer.
type Finding struct {
	// Check that found it.
	Check string
	// Missing reports whether no machine starts without it, and Slow whether machines are slower without it.
	Missing, Slow bool
	// Seen describes what was found.
	Seen string
	// Advice describes what to do; empty when nothing is to be done.
	Advice string
}

// files are the parts of a kernel.
type files struct{ kernel, image, modules, release string }

// fillAdvice describes how to get a kernel.
func fillAdvice(dir, kernel string) string {
	if dir == "" {
		dir = "DIR"
	}
	return strings.TrimSpace(fmt.Sprintf("hack/vm/machines %s %s", dir, kernel))
}

// kernelFiles returns the parts of a kernel of a directory.
func kernelFiles(dir, kernel string) (*files, error) {
	dir, err := filepath.Abs(filepath.Join(dir, kernel))
	if err != nil {
		return nil, err
	}
	f := &files{kernel: filepath.Join(dir, "vmlinuz"), image: filepath.Join(dir, "image.gz"), modules: filepath.Join(dir, "modules")}
	release, err := os.ReadFile(filepath.Join(dir, "release"))
	if err != nil {
		return nil, err
	}
	f.release = strings.TrimSpace(string(release))
	for _, part := range []string{f.kernel, f.image, filepath.Join(f.modules, f.release, "modules.dep")} {
		if _, err := os.Stat(part); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// kernels returns the names of the complete kernels of a directory.
func kernels(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, err := kernelFiles(dir, e.Name()); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Look checks this computer for all that a machine with a kernel of a directory and some modules of it needs. Without a kernel
// any is enough.
func Look(dir, kernel string, modules []string) []Finding {
	all := []Finding{architecture(), qemu(), tunnels(), programs(), acceleration().finding()}
	folder, has := folderFinding(dir)
	all = append(all, folder)
	if folder.Missing {
		return all
	}
	found := kernelFinding(dir, kernel, has)
	all = append(all, found)
	if !found.Missing && len(modules) > 0 {
		all = append(all, modulesFinding(dir, kernel, modules))
	}
	return all
}

// Refusal returns the first reason why no machine starts; nil if there is none.
func Refusal(findings []Finding) error {
	i := slices.IndexFunc(findings, func(f Finding) bool { return f.Missing })
	if i < 0 {
		return nil
	}
	return hint.With(errors.New(findings[i].Check+": "+findings[i].Seen), findings[i].Advice)
}

func missing(check, seen, advice string) Finding {
	return Finding{Check: check, Missing: true, Seen: seen, Advice: advice}
}

// architecture checks the processor: kernels and start-up images are for amd64, and the machine uses the programs of this computer.
func architecture() Finding {
	if runtime.GOARCH != "amd64" {
		return missing("architecture", runtime.GOARCH, "use a computer with amd64: the machine runs the programs of this computer")
	}
	return Finding{Check: "architecture", Seen: runtime.GOARCH}
}

func qemu() Finding {
	const install = "sudo apt-get install qemu-system-x86"
	if _, err := exec.LookPath(program); err != nil {
		return missing("QEMU", program+" is not in PATH", install)
	}
	version, err := exec.Command(program, "--version").Output()
	if err != nil {
		return missing("QEMU", fmt.Sprintf("%s --version: %v", program, err), install)
	}
	devices, err := exec.Command(program, "-device", "help").Output()
	if err != nil || !strings.Contains(string(devices), `"virtio-9p-pci"`) {
		return missing("QEMU", program+" cannot share files with a machine (device virtio-9p-pci)", "install a QEMU with 9p, such as Debian's: "+install)
	}
	line, _, _ := strings.Cut(string(version), "\n")
	return Finding{Check: "QEMU", Seen: strings.TrimPrefix(line, "QEMU emulator version ")}
}

func tunnels() Finding {
	const device = "/dev/net/tun"
	if _, err := os.Stat(device); err != nil {
		return missing("TAP interfaces", "there is no "+device, "sudo modprobe tun, or use a kernel with CONFIG_TUN")
	}
	return Finding{Check: "TAP interfaces", Seen: device}
}

// needed are programs of this computer that the machine runs, with their packages.
var needed = []struct{ name, pkg string }{{"bash", "bash"}, {"ip", "iproute2"}, {"modprobe", "kmod"}, {"mount", "mount"}, {"stty", "coreutils"}, {"grep", "grep"}, {"xargs", "findutils"}, {"hostname", "hostname"}}

func programs() Finding {
	var names, packages []string
	for _, p := range needed {
		if !slices.ContainsFunc([]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}, func(dir string) bool {
			_, err := os.Stat(path.Join(dir, p.name))
			return err == nil
		}) {
			names, packages = append(names, p.name), append(packages, p.pkg)
		}
	}
	if len(names) > 0 {
		return missing("programs", "not installed, and the machine runs the programs of this computer: "+strings.Join(names, ", "), "sudo apt-get install "+strings.Join(packages, " "))
	}
	return Finding{Check: "programs", Seen: "the machine finds bash, ip and modprobe"}
}

// accelerated reports whether KVM can be used.
type accelerated struct {
	usable bool
	why    string
	advice string
}

// acceleration checks KVM. On nested hypervisors Debian's kernels do not start with it.
func acceleration() accelerated {
	const device = "/dev/kvm"
	if err := unix.Access(device, unix.R_OK|unix.W_OK); err != nil {
		return accelerated{why: fmt.Sprintf("no KVM (%s: %v): processors are emulated, and rates and latencies mean nothing", device, err),
			advice: "turn virtualization on in the firmware, and load kvm_intel or kvm_amd; counts are exact without it"}
	}
	if name, err := hypervisor.Name(os.DirFS("/")); err != nil || name != "" {
		return accelerated{why: "this computer is virtual itself: KVM is not used, processors are emulated, and rates and latencies mean nothing",
			advice: "use a computer that is not virtual; counts are exact without KVM"}
	}
	return accelerated{usable: true, why: "KVM"}
}

func (a accelerated) finding() Finding {
	return Finding{Check: "acceleration", Slow: !a.usable, Seen: a.why, Advice: a.advice}
}

// folderFinding checks the directory with kernels, and returns their names.
func folderFinding(dir string) (Finding, []string) {
	const check = "directory with kernels"
	if dir == "" {
		return missing(check, "$"+DirEnv+" is not set", "set "+DirEnv+" to a directory with kernels, which "+fillAdvice("", "")+" fills"), nil
	}
	has, err := kernels(dir)
	if err != nil {
		return missing(check, fmt.Sprintf("$%s: %v", DirEnv, err), "set "+DirEnv+" to a directory with kernels; "+fillAdvice(dir, "")+" makes it"), nil
	}
	return Finding{Check: check, Seen: dir}, has
}

func kernelFinding(dir, kernel string, has []string) Finding {
	const check = "kernel"
	switch {
	case len(has) == 0:
		return missing(check, dir+" contains no kernel", fillAdvice(dir, kernel))
	case kernel == "":
		return Finding{Check: check, Seen: strings.Join(has, ", ")}
	case !slices.Contains(has, kernel):
		return missing(check, fmt.Sprintf("%s contains no kernel %q, only %s", dir, kernel, strings.Join(has, ", ")), "name one of these in spec.device.machine.kernel, or: "+fillAdvice(dir, kernel))
	}
	return Finding{Check: check, Seen: kernel}
}

// modulesFinding checks that a kernel has modules.
func modulesFinding(dir, kernel string, modules []string) Finding {
	const check = "modules"
	f, err := kernelFiles(dir, kernel)
	if err != nil {
		return missing(check, err.Error(), fillAdvice(dir, kernel))
	}
	known := map[string]bool{}
	for _, list := range []string{"modules.dep", "modules.builtin"} {
		text, err := os.ReadFile(filepath.Join(f.modules, f.release, list))
		if err != nil && list == "modules.dep" {
			return missing(check, err.Error(), fillAdvice(dir, kernel))
		}
		for line := range strings.Lines(string(text)) {
			file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			name, _, _ := strings.Cut(path.Base(file), ".ko")
			known[strings.ReplaceAll(name, "-", "_")] = true
		}
	}
	for _, m := range modules {
		if !known[strings.ReplaceAll(m, "-", "_")] {
			return missing(check, fmt.Sprintf("the kernel %s (%s) has no module %q", kernel, f.release, m), "correct spec.device.machine.modules, or name a kernel with this module")
		}
	}
	return Finding{Check: check, Seen: strings.Join(modules, ", ")}
}
