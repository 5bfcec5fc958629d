//go:build !standalone

package readers

import (
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/gnmi"
)

const keysOverGRPC = gnmiaccess.Keys

// overGRPC returns the reader of a device that is reached by gNMI.
func overGRPC(r configure.Reach, interfaces []string) (telemetry.Reader, error) {
	c, err := gnmiaccess.ReadConfig(r)
	if err != nil {
		return nil, err
	}
	return gnmi.New(c, interfaces)
}
