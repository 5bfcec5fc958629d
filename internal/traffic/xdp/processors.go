package xdp

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/internal/processors"
	"nodrop.dev/nodrop/internal/traffic"
)

// processors returns the processors that the engine sends on.
func (e *Engine) processors() ([]int, error) {
	all, err := processors.Usable()
	if err != nil {
		return nil, err
	}
	return e.options.without(all), nil
}

// without are processors that are not the device's.
func (o Options) without(all []int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(n int) bool { return slices.Contains(o.DeviceProcessors, n) })
}

// settle lets tester and device share the processors if this process may use only the
// processors of the device.
func (o *Options) settle() error {
	all, err := processors.Usable()
	if err != nil {
		return err
	}
	if len(o.DeviceProcessors) > 0 && len(o.without(all)) == 0 {
		o.DeviceProcessors, o.Together = nil, fmt.Sprintf("the device works on processors %s, and the tester may use no others than %s", traffic.CPUList(o.DeviceProcessors), traffic.CPUList(all))
	}
	return nil
}

const (
	// catchUpShare is the share of the mean time between two frames that is kept between
	// late ones, to a device with processors of its own, so that its load is at most an
	// eighth above the intended one. Such a device works on while the tester is held up,
	// and could not take in what comes at full speed after that.
	catchUpShare = 7. / 8
	// catchUpTogether are late frames that may leave without any time between them.
	catchUpTogether = 64
)

// spaceOut keeps a time between the frames of a lane when they are late, if they go to a device
// that works on processors of its own, as a network card does.
func (l *lane) spaceOut(s *schedule) {
	if len(l.port.engine.options.DeviceProcessors) == 0 || l.port.driver != "veth" || s.eager != nil || s.perNano <= 0 {
		return
	}
	mean := 1 / s.perNano
	l.tx.CatchUp, l.tx.Together = max(1, uint64(mean*catchUpShare)), uint64(mean*catchUpTogether)
}
