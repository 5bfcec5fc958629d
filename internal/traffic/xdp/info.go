package xdp

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/hypervisor"
	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/traffic/xdp/kernel"
	"nodrop.dev/nodrop/internal/traffic/xdp/machine"
)

const detail = "frames are written in the kernel by BPF_PROG_RUN with live frames and counted by an XDP program on the receiving port"

// Info implements traffic.Generator.
func (e *Engine) Info(context.Context) (traffic.Info, error) {
	if e.trial == nil { // else it says how the trial was sent
		if err := e.netns.Do(e.ports.choose); err != nil {
			return traffic.Info{}, err
		}
	}
	host, err := describeHost(e.options.Host)
	if err != nil {
		return traffic.Info{}, err
	}
	if clock, err := machine.ReadDiscipline(); err == nil {
		host.Clock = &clock
	}
	if len(e.options.DeviceProcessors) > 0 || e.options.Together != "" {
		if host.TesterCPUs, err = e.options.processors(); err != nil {
			return traffic.Info{}, err
		}
		host.DeviceCPUs, host.Together = e.options.DeviceProcessors, e.options.Together
	}
	caps, _ := capability.Of("xdp")
	if caps.MaxStreams, err = maxStreams(caps.MaxStreams); err != nil {
		return traffic.Info{}, err
	}
	free, err := quarterOfMemory()
	if err != nil {
		return traffic.Info{}, err
	}
	caps.MaxMicroflows = int(min(uint64(caps.MaxMicroflows), free/uint64(kernel.MicroflowBytes)))
	info := traffic.Info{
		Engine: "xdp",
		Detail: detail,
		Hosts:  []traffic.Host{host},
	}
	machine, err := hypervisor.Name(os.DirFS("/"))
	if err != nil {
		return traffic.Info{}, err
	}
	var cards []*traffic.Card
	if err := e.netns.Do(func() (err error) { cards, err = e.ports.cards(); return err }); err != nil {
		return traffic.Info{}, err
	}
	for i, p := range e.ports {
		caps.MaxFrameSize = min(caps.MaxFrameSize, p.mtu+18)
		notes := slices.Clone(p.notes)
		where, note := p.send.describeSenders()
		if where != "" {
			info.Detail += "; " + where
		}
		if note != "" {
			notes = append(notes, note)
		}
		if way, short := p.send.userPath(); way != "" {
			notes = append(notes, "frames are sent "+way)
			info.Detail += fmt.Sprintf("; %s sends through %s", p.Name, short)
		}
		info.Ports = append(info.Ports, traffic.PortInfo{
			Name: p.Name, Interface: p.Interface, Driver: p.driver, MAC: p.mac, Hypervisor: machine, Emulated: p.emulated, Card: cards[i], Notes: notes,
		})
	}
	info.Capabilities = caps
	return info, nil
}

// describeHost describes this machine.
func describeHost(name string) (traffic.Host, error) {
	h := traffic.Host{Name: name}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return h, fmt.Errorf("asking for the kernel's release: %w", err)
	}
	h.Kernel = unix.ByteSliceToString(u.Release[:])
	usable, err := processors.Usable()
	if err != nil {
		return h, err
	}
	h.CPUs = len(usable)
	err = machine.EachLine("/proc/cpuinfo", func(line string) bool {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" {
			h.CPU = strings.TrimSpace(value)
		}
		return h.CPU == ""
	})
	return h, err
}

// maxStreams returns the number of streams, at most most, whose counters fit into a quarter of the
// free memory, or of the memory limit of the container where that is less: each is sent
// by one port and received by one or more.
func maxStreams(most int) (int, error) {
	free, err := quarterOfMemory()
	if err != nil {
		return 0, err
	}
	each := uint64(unsafe.Sizeof(kernel.PortTxStream{}) + unsafe.Sizeof(kernel.PortRxFlow{}))
	return int(min(uint64(most), free/each)), nil
}

// layOut lays out the records of the microflows of streams that a port receives, if they fit
// into a quarter of the free memory.
func layOut(streams []traffic.Stream) (kernel.Microflows, error) {
	m, err := kernel.LayOut(streams)
	if err != nil || m.Records == 0 {
		return m, err
	}
	free, err := quarterOfMemory()
	if err == nil && m.Bytes() > free {
		err = fmt.Errorf("counting %s microflows needs %d MiB, and a quarter of the free memory is %d MiB: choose smaller ranges, or give the tester more memory",
			traffic.Grouped(m.Records), m.Bytes()>>20, free>>20)
	}
	return m, err
}

// quarterOfMemory returns a quarter of the free memory, or of the memory limit of the container
// where that is less.
func quarterOfMemory() (uint64, error) {
	var free uint64
	err := machine.EachLine("/proc/meminfo", func(line string) bool {
		_, err := fmt.Sscanf(line, "MemAvailable: %d kB", &free)
		return err != nil
	})
	if err != nil {
		return 0, err
	}
	return min(free<<10, memoryLimit("/sys/fs/cgroup")) / 4, nil
}

// memoryLimit is the memory limit of this process's cgroup in bytes, by the files below
// a directory, of cgroup version 2 or 1; the largest number where there is none.
func memoryLimit(dir string) uint64 {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return limit
		}
	}
	return math.MaxUint64
}
