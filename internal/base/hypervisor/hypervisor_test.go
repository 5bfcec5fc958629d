package hypervisor

import (
	"os"
	"testing"
	"testing/fstest"
)

// machine makes the files of a machine.
func machine(files map[string]string) fstest.MapFS {
	all := fstest.MapFS{"proc/cpuinfo": {Data: []byte("processor\t: 0\nflags\t\t: fpu sse4_2\n")}}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

const guest = "processor\t: 0\nmodel name\t: QEMU TCG CPU\nflags\t\t: fpu hypervisor lahf_lm\n"

func TestName(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"bare metal":              {map[string]string{"sys/class/dmi/id/sys_vendor": "Dell Inc.\n", "sys/class/dmi/id/product_name": "PowerEdge R750\n"}, ""},
		"bare metal of a cloud":   {map[string]string{"sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "sys/class/dmi/id/product_name": "c6i.metal\n"}, ""},
		"without firmware":        {nil, ""},
		"QEMU":                    {map[string]string{"proc/cpuinfo": guest, "sys/class/dmi/id/sys_vendor": "QEMU\n", "sys/class/dmi/id/product_name": "Standard PC (Q35 + ICH9, 2009)\n"}, "QEMU Standard PC (Q35 + ICH9, 2009)"},
		"a machine of a cloud":    {map[string]string{"proc/cpuinfo": guest, "sys/class/dmi/id/sys_vendor": "Amazon EC2\n", "sys/class/dmi/id/product_name": "c6i.large\n"}, "Amazon EC2 c6i.large"},
		"only the flag":           {map[string]string{"proc/cpuinfo": guest}, "a hypervisor without a name"},
		"Xen":                     {map[string]string{"sys/hypervisor/type": "xen\n"}, "xen"},
		"KVM on ARM, no flags":    {map[string]string{"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\n", "sys/class/dmi/id/sys_vendor": "QEMU\n", "sys/class/dmi/id/product_name": "KVM Virtual Machine\n"}, "QEMU KVM Virtual Machine"},
		"Hyper-V, Microsoft's":    {map[string]string{"proc/cpuinfo": guest, "sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n", "sys/class/dmi/id/product_name": "Virtual Machine\n"}, "Microsoft Corporation Virtual Machine"},
		"a notebook, Microsoft's": {map[string]string{"sys/class/dmi/id/sys_vendor": "Microsoft Corporation\n", "sys/class/dmi/id/product_name": "Surface\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Name(machine(tc.files)); err != nil || got != tc.want {
				t.Errorf("%q, %v, want %q", got, err, tc.want)
			}
		})
	}
	if _, err := Name(fstest.MapFS{}); err == nil {
		t.Error("no error without /proc/cpuinfo")
	}
	if _, err := Name(os.DirFS("/")); err != nil {
		t.Errorf("of this machine: %v", err)
	}
}

func TestEmulated(t *testing.T) {
	const dir = "sys/bus/pci/devices/0000:01:00.0/"
	files := func(vendor, subsystem string) map[string]string {
		return map[string]string{dir + "vendor": vendor + "\n", dir + "subsystem_vendor": subsystem + "\n"}
	}
	for name, tc := range map[string]struct {
		files   map[string]string
		address string
		want    string
	}{
		"igb of QEMU":          {files("0x8086", "0x1af4"), "0000:01:00.0", "QEMU"},
		"e1000e of VMware":     {files("0x8086", "0x15ad"), "0000:01:00.0", "VMware"},
		"virtio":               {files("0x1af4", "0x1af4"), "0000:01:00.0", "QEMU"},
		"ConnectX":             {files("0x15b3", "0x15b3"), "0000:01:00.0", ""},
		"E810":                 {files("0x8086", "0x8086"), "0000:01:00.0", ""},
		"another card":         {files("0x8086", "0x1af4"), "0000:02:00.0", ""},
		"a veth":               {nil, "", ""},
		"not below the folder": {files("0x8086", "0x1af4"), "../../0000:01:00.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Emulated(machine(tc.files), tc.address); err != nil || got != tc.want {
				t.Errorf("%q, %v, want %q", got, err, tc.want)
			}
		})
	}
}
