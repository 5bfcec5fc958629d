package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/iproute2"
	"nodrop.dev/nodrop/internal/testkit/devicesample"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// noLabel is the label of frames without one.
const noLabel = -1

// TestRunLinuxLabels measures the kernel of Linux in an emulated machine, which swaps labels and pops them, and forwards IP and pushes
// labels. The frames that the tester received have these labels, and one table compares swapped labels with IP.
func TestRunLinuxLabels(t *testing.T) {
	longtest.Skip(t, "TestRunLabels, and TestDriver of iproute2 with the same machine")
	labelled := newLinuxDevice(t, devicesample.LinuxLabels)
	labelled.measureLabels("labels.json", map[v1alpha1.VariantName][2]int{"pop": {noLabel, noLabel}, "missing": {0, 2000}})
	// The bases of both samples are measured without variants, so that their results have the same rows.
	swap := labelled.measureLabels("swap.json", map[v1alpha1.VariantName][2]int{"": {2001, 2000}})
	// The machine takes longer to boot than to be measured.
	push := &linuxDevice{Linux: labelled.Linux, t: t, of: devicesample.LinuxPush, folder: t.TempDir()}
	push.sample = push.of.PreparedOn(t, push.Linux, "nd-e")
	push.writeAccess()
	push.measureLabels("push.json", map[v1alpha1.VariantName][2]int{"push": {1001, 1000}, "missing": {noLabel, 1000}})
	ip := push.measureLabels("ip.json", map[v1alpha1.VariantName][2]int{"": {noLabel, noLabel}})
	labelled.rejectsLabel()

	comparesLatency(t, "ip="+ip, "swap="+swap)
}

// rejectsLabel gives the device a label that it rejects, after one that it accepts, and expects that it has neither.
func (l *linuxDevice) rejectsLabel() {
	l.t.Helper()
	driver, err := iproute2.New(l.Access())
	l.must(err)
	before := l.Routes()
	base, err := driver.Language().Parse(before)
	l.must(err)
	const line = "ip -f mpls route add 99999 as to 2000 via inet 198.18.2.2 dev e2" // The device has 10,000 labels.
	record, err := configure.Apply(l.t.Context(), driver, base+"ip -f mpls route add 500 as to 2000 via inet 198.18.2.2 dev e2\n"+line+"\n", time.Minute)
	var rejected *configure.RejectedError
	if !errors.As(err, &rejected) || rejected.Command != line || rejected.Text == "" || !record.RolledBack || !strings.Contains(record.Software, "iproute2-") {
		l.t.Errorf("%v, %+v", err, record)
	}
	if after := l.Routes(); after != before {
		l.t.Errorf("the device has\n%s\nwant\n%s", after, before)
	}
}

// measureLabels measures the variants of which the labels are given, or without variants the base, and returns the file of the result.
// All frames that ports p1 and p2 kept have one label in each variant; 0 expects that the port received no frame.
func (l *linuxDevice) measureLabels(output string, want map[v1alpha1.VariantName][2]int) string {
	l.t.Helper()
	spec := &l.sample.Benchmark.Spec
	spec.Capture = &v1alpha1.Capture{Frames: 100, BytesPerFrame: 128}
	spec.Variants = slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(v v1alpha1.VariantName) bool { return v == "" })
	l.output = filepath.Join(l.folder, output)
	for _, row := range l.measureSample().Rows {
		if row.Capture == nil {
			l.t.Errorf("%s: no frame was kept: %s", row.Variant, row.Message)
			continue
		}
		labels := keptLabels(l.t, filepath.Join(l.folder, row.Capture.File))
		for i, label := range want[row.Variant] {
			port := fmt.Sprintf("p%d", i+1)
			got := labels[port]
			if label == 0 && len(got) > 0 || label != 0 && (len(got) != 1 || got[label] == 0) {
				l.t.Errorf("%s: port %s received frames with the labels %v, want %d only", row.Variant, port, got, label)
			}
		}
	}
	return l.output
}

// keptLabels counts the frames of a file by their outermost label, for each port.
func keptLabels(t *testing.T, file string) map[string]map[int]int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[int]int{}
	for {
		content, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		label := noLabel
		if mpls, is := gopacket.NewPacket(content, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeMPLS).(*layers.MPLS); is {
			label = int(mpls.Label)
		}
		port, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		if all[port.Name] == nil {
			all[port.Name] = map[int]int{}
		}
		all[port.Name][label]++
	}
}
