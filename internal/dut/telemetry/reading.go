package telemetry

import (
	"context"
	"time"

	"nodrop.dev/nodrop/internal/base/human"
)

// Reader reads one device. It is used from one goroutine at a time.
type Reader interface {
	// Read returns what the device reports now. It ends with the context, and connects anew after an error.
	Read(ctx context.Context) (*Reading, error)
	// Facts returns what the device is; texts that it does not report are empty. It ends as Read does.
	Facts(ctx context.Context) (*Facts, error)
	// Close gives the connection back.
	Close()
}

// Facts describe a device in its own words.
type Facts struct {
	// Description is the text that the device has for people.
	Description string `json:"description,omitempty"`
	Model       string `json:"model,omitempty"`
	// Software is its name and version.
	Software     string `json:"software,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	// Modules are parts that can be exchanged, such as transceivers: "Ethernet1/3: SFP-10G-SR, serial number X1".
	Modules []string `json:"modules,omitempty"`
	// Up is the time since the device, or its agent, started.
	Up time.Duration `json:"up,omitempty"`
	// BootReason is why it started.
	BootReason string `json:"bootReason,omitempty"`
}

// Reading contains what a device reports at one moment.
type Reading struct {
	// Up is the time since the device, or its agent, started; 0 if it is not known.
	Up time.Duration `json:"up,omitempty"`
	// Counters of dropped and damaged frames by their names: "input discards of e1".
	Counters map[string]Counter `json:"counters,omitempty"`
	// Sensors by their names: "processor 1".
	Sensors map[string]Sensor `json:"sensors,omitempty"`
}

// Counter is a counter of frames, which only grows, until it begins at 0 again.
type Counter struct {
	Value uint64 `json:"value"`
	// Bits is 32 for a counter that begins at 0 again after 2^32 frames, and 64 for others.
	Bits int `json:"bits"`
}

// Since returns by how much a counter has grown.
func (c Counter) Since(before Counter) uint64 {
	if c.Value >= before.Value {
		return c.Value - before.Value
	}
	if c.Bits == 32 && before.Bits == 32 {
		return c.Value + 1<<32 - before.Value
	}
	return c.Value // It was set to 0 in between.
}

// Sensor is a measured quantity.
type Sensor struct {
	// Value in the unit.
	Value float64 `json:"value"`
	// Unit is %, °C, W, V, A, rpm or another one that the device reports.
	Unit string `json:"unit"`
}

// Add adds a counter; one with the same name is summed up with it.
func (r *Reading) Add(name string, c Counter) {
	if r.Counters == nil {
		r.Counters = map[string]Counter{}
	}
	name = human.Cut(name, maxName)
	c.Value += r.Counters[name].Value
	r.Counters[name] = c
}

// Sense adds a sensor.
func (r *Reading) Sense(name string, value float64, unit string) {
	if r.Sensors == nil {
		r.Sensors = map[string]Sensor{}
	}
	r.Sensors[human.Cut(name, maxName)] = Sensor{value, human.Cut(unit, maxUnit)}
}

// Bounds of texts in results, in bytes: devices may send any.
const (
	maxName    = 253
	maxUnit    = 16
	maxMessage = 1024
)
