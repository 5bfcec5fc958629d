//go:build standalone

package readers

import (
	"errors"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

const keysOverGRPC = "the keys of gNMI"

// overGRPC fails: the small binary does without gRPC.
func overGRPC(configure.Reach, []string) (telemetry.Reader, error) {
	return nil, errors.New("telemetry.gnmi: this binary was built with the tag standalone, and has no gNMI: build it without the tag, or use snmp")
}
