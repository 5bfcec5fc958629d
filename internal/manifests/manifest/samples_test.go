package manifest

import (
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

const samples = "../../../config/samples"

// The samples that the API server refuses because of their own schema say in
// comments what it answers; the answer without a cluster must say the same.
func TestSameMessagesAsTheServer(t *testing.T) {
	for _, name := range []string{
		"load-above-line-rate", "frame-too-small-for-ipv4", "frame-too-small-for-ipv6", "two-methods-in-one-test", "engine-cannot-model",
		"two-patterns", "udp-without-network-layer", "two-classes", "tag-does-not-fit", "no-multicast-group", "too-many-groups", "reserved-label",
		"group-of-the-other-family", "groups-without-network-layer",
		"mix-weight-of-zero", "mix-unknown-letter", "mix-z-without-mtu", "mix-mtu-without-z", "mix-two-forms", "mix-too-many-sizes", "nothing-to-send",
		"mix-frame-too-small",
		"variants-of-a-physical-device",
		"trex-without-a-mode", "trex-two-modes", "trex-settings-of-another-engine", "trex-too-few-cpus", "trex-odd-ring",
		"grant-to-nobody", "policy-not-a-network", "policy-empty-range", "policy-not-a-group",
		"test-name-twice", "load-twice", "frame-size-twice",
		"session-with-two-families", "session-with-a-short-hold-time", "session-on-all-ports-with-an-address",
		"flows-beside-a-pattern", "flows-sizes-of-none", "custom-half-a-byte",
		"routes-of-ethernet", "routes-of-no-network", "routes-with-a-bad-community",
		"two-attachments", "sriov-set-up-twice", "sriov-without-a-vendor", "capture-too-many-frames",
		"schedule-that-aborts", "schedule-of-100-cells",
		"reservation-ends-before-it-begins", "reservation-of-two-months", "gang-preemptible",
		"connections-of-udp-that-end", "connections-of-udp-without-a-pause",
	} {
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(samples, "broken", name+".yaml"))
			if err != nil || len(files) != 1 {
				t.Fatalf("files %v, %v", files, err)
			}
			_, err = Load(files, nil)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range kubetest.Expectations(t, files[0]) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message:\n%s\nwant in it:\n%s", err, want)
				}
			}
		})
	}
}

// Every benchmark among the good samples finds what it refers to in its directory.
func TestSamplesResolve(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*", "*benchmark.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("samples %v, %v", files, err)
	}
	for _, file := range files {
		set, err := Load([]string{file}, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		bundle, err := set.Resolve("")
		if err != nil {
			t.Error(err)
			continue
		}
		if bundle.Bed.Spec.Device.Simulated != nil && bundle.Tables[""].Model == "" {
			t.Errorf("%s: no model", file)
		}
	}
}
