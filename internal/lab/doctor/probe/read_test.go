package probe

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func gzipped(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestRead(t *testing.T) {
	dir, link := &fstest.MapFile{Mode: fs.ModeDir | 0o755}, func(to string) *fstest.MapFile {
		return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(to)}
	}
	root := fstest.MapFS{
		"proc/cpuinfo":         file("processor\t: 0\nflags\t\t: fpu sse4_2 constant_tsc avx\n\nprocessor\t: 1\nflags\t\t: fpu\n"),
		"proc/cmdline":         file("root=/dev/sda1 intel_iommu=on secret=1 hugepagesz=1G hugepages=8\n"),
		"proc/config.gz":       gzipped(t, "CONFIG_BPF_SYSCALL=y\nCONFIG_VFIO_PCI=m\n# CONFIG_PACKET is not set\nCONFIG_OTHER=y\n"),
		"sys/fs/bpf":           dir,
		"sys/kernel/btf/other": file(""),
		"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages":    file("0\n"),
		"sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": file("8\n"),
		"sys/kernel/iommu_groups/0":                                dir,
		"sys/kernel/iommu_groups/1":                                dir,
		"sys/devices/system/node/node0":                            dir,
		"sys/devices/system/node/node1":                            dir,
		"sys/devices/system/node/online":                           file("0-1\n"),
		"sys/bus/pci/drivers/vfio-pci/bind":                        file(""),
		"sys/bus/pci/drivers/ice/bind":                             file(""),
		"sys/bus/pci/devices/0000:00:00.0/class":                   file("0x060000\n"),
		"sys/bus/pci/devices/0000:3b:00.0/class":                   file("0x020000\n"),
		"sys/bus/pci/devices/0000:3b:00.0/vendor":                  file("0x8086\n"),
		"sys/bus/pci/devices/0000:3b:00.0/sriov_totalvfs":          file("64\n"),
		"sys/bus/pci/devices/0000:3b:00.0/driver":                  link("../../drivers/ice"),
		"sys/bus/pci/devices/0000:3b:01.0/class":                   file("0x020000\n"),
		"sys/bus/pci/devices/0000:3b:01.0/vendor":                  file("0x8086\n"),
		"sys/bus/pci/devices/0000:3b:01.0/physfn":                  link("../0000:3b:00.0"),
	}
	got, err := Read(root)
	if err != nil {
		t.Fatal(err)
	}
	want := Node{
		CPUFlags: []string{"sse4_2", "constant_tsc"}, NUMANodes: 2, IOMMUGroups: 2, VFIO: true, BPF: true, NoBTF: true,
		HugePages:   []HugePages{{2 << 20, 0}, {1 << 30, 8}},
		CommandLine: []string{"intel_iommu=on", "hugepagesz=1G", "hugepages=8"},
		Config:      map[string]string{"CONFIG_BPF_SYSCALL": "y", "CONFIG_VFIO_PCI": "m"},
		Cards: []Card{
			{Address: "0000:3b:00.0", Vendor: "0x8086", Driver: "ice", VirtualFunctions: 64},
			{Address: "0000:3b:01.0", Vendor: "0x8086", VirtualFunction: true},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadWithLittle(t *testing.T) {
	got, err := Read(fstest.MapFS{"proc/cpuinfo": file("model name: arm\n"), "sys/kernel/mm/x": file("")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Node{}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "run it in a pod") {
		t.Errorf("error %v", err)
	}
}

// The machine that tests run on has real files.
func TestReadThisMachine(t *testing.T) {
	got, err := Read(os.DirFS("/"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
	if err != nil {
		t.Skipf("this machine has no huge pages of 2 MiB: %v", err)
	}
	if len(got.HugePages) == 0 {
		t.Errorf("no size of huge pages was found, the kernel has %s of 2 MiB", status)
	}
	if !PacketSockets() {
		t.Error("no packet sockets: the engine's own tests need them")
	}
}
