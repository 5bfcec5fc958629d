//go:build !standalone

package platform

import (
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmi"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
)

// overGRPC are the platforms whose devices are reached by gRPC, which the small binary does without.
var overGRPC = []*Platform{
	{"gnmi", gnmi.Language{}, gnmiaccess.Keys, func(r configure.Reach) (configure.Driver, error) {
		if err := byAddress(r); err != nil {
			return nil, err
		}
		c, err := gnmiaccess.ReadConfig(r)
		if err != nil {
			return nil, err
		}
		return gnmi.New(c)
	}},
}
