package snmp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// Objects that are read.
const (
	sysUpTime       = ".1.3.6.1.2.1.1.3.0"
	ifDescr         = ".1.3.6.1.2.1.2.2.1.2"
	ifName          = ".1.3.6.1.2.1.31.1.1.1.1"
	hrProcessorLoad = ".1.3.6.1.2.1.25.3.3.1.2"
	entPhysicalName = ".1.3.6.1.2.1.47.1.1.1.1.7"
	sensorType      = ".1.3.6.1.2.1.99.1.1.1.1"
	sensorScale     = ".1.3.6.1.2.1.99.1.1.1.2"
	sensorPrecision = ".1.3.6.1.2.1.99.1.1.1.3"
	sensorValue     = ".1.3.6.1.2.1.99.1.1.1.4"
	sensorStatus    = ".1.3.6.1.2.1.99.1.1.1.5"
)

// counters are the columns of ifTable with frames that a device dropped or found damaged.
var counters = map[string]string{
	".1.3.6.1.2.1.2.2.1.13": "input discards",
	".1.3.6.1.2.1.2.2.1.14": "input errors",
	".1.3.6.1.2.1.2.2.1.19": "output discards",
	".1.3.6.1.2.1.2.2.1.20": "output errors",
}

// units of sensors by their type (EntitySensorDataType); others are left out.
var units = map[int64]string{3: "V", 4: "V", 5: "A", 6: "W", 7: "Hz", 8: "°C", 9: "%", 10: "rpm", 11: "m³/min", 14: "dBm"}

// Reader reads one device.
type Reader struct {
	config Config
	// client is nil until the first reading, and after one that failed.
	client *gosnmp.GoSNMP
}

var _ telemetry.Reader = (*Reader)(nil)

// New returns a reader, which does not connect yet.
func New(c Config) (*Reader, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Reader{config: c}, nil
}

// Read implements telemetry.Reader.
func (r *Reader) Read(ctx context.Context) (*telemetry.Reading, error) {
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	r.client.Context = ctx
	defer context.AfterFunc(ctx, func() { _ = r.client.Conn.SetDeadline(time.Now()) })()
	reading, err := r.read()
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("reading the device at %s by SNMP: %w", r.config.Address, r.explained(err))
	}
	return reading, nil
}

// explained adds the remedy to an error.
func (r *Reader) explained(err error) error {
	late := strings.Contains(err.Error(), "timeout")
	switch {
	case late && r.config.User == "":
		return fmt.Errorf("%w: a device does not answer a wrong community", err)
	case late:
		return fmt.Errorf("%w: a device does not answer messages of another privacyPassword", err)
	case strings.Contains(err.Error(), "not authentic"):
		return fmt.Errorf("%w: the device has another user, authenticationPassword or authentication", err)
	}
	return err
}

func (r *Reader) connect(ctx context.Context) error {
	if r.client != nil {
		return nil
	}
	conn, err := r.config.dial(ctx)
	if err != nil {
		return fmt.Errorf("reaching the device at %s: %w", r.config.Address, err)
	}
	client := r.config.client()
	// The library opens a socket of its own, here one without a peer.
	client.UseUnconnectedUDPSocket = true
	if err := client.Connect(); err != nil {
		_ = conn.Close()
		return fmt.Errorf("preparing SNMP: %w", err)
	}
	_ = client.Conn.Close()
	client.Conn = connected{conn}
	r.client = client
	return nil
}

// connected hides that a connection is a net.PacketConn: the library writes to the peer of its own socket then.
type connected struct{ net.Conn }

// Close implements telemetry.Reader.
func (r *Reader) Close() {
	if r.client != nil {
		_ = r.client.Conn.Close()
		r.client = nil
	}
}

func (r *Reader) read() (*telemetry.Reading, error) {
	out := &telemetry.Reading{}
	up, err := r.client.Get([]string{sysUpTime})
	if err != nil {
		return nil, err
	}
	for _, v := range up.Variables {
		if v.Type == gosnmp.TimeTicks {
			out.Up = time.Duration(gosnmp.ToBigInt(v.Value).Int64()) * 10 * time.Millisecond
		}
	}
	if out.Up == 0 {
		return nil, errors.New("it does not report sysUpTime")
	}
	if err := r.interfaces(out); err != nil {
		return nil, err
	}
	if err := r.processors(out); err != nil {
		return nil, err
	}
	return out, r.sensors(out)
}

// column reads a column of a table by its index; a device without it has none.
func (r *Reader) column(oid string) (map[string]gosnmp.SnmpPDU, error) {
	values := map[string]gosnmp.SnmpPDU{}
	err := r.client.BulkWalk(oid, func(v gosnmp.SnmpPDU) error {
		values[strings.TrimPrefix(v.Name, oid+".")] = v
		return nil
	})
	return values, err
}

func (r *Reader) interfaces(out *telemetry.Reading) error {
	names, err := r.column(ifName)
	if err == nil && len(names) == 0 {
		names, err = r.column(ifDescr)
	}
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for oid, what := range counters {
		values, err := r.column(oid)
		if err != nil {
			return err
		}
		for index, v := range values {
			name := text(names[index])
			known[name] = true
			if v.Type != gosnmp.Counter32 && v.Type != gosnmp.Counter64 || !r.config.wants(name) {
				continue
			}
			bits := 32
			if v.Type == gosnmp.Counter64 {
				bits = 64
			}
			out.Add(what+" of "+name, telemetry.Counter{Value: gosnmp.ToBigInt(v.Value).Uint64(), Bits: bits})
		}
	}
	for _, name := range r.config.Interfaces {
		if !known[name] {
			return fmt.Errorf("it has no interface %q", name)
		}
	}
	return nil
}

func (r *Reader) processors(out *telemetry.Reading) error {
	loads, err := r.column(hrProcessorLoad)
	if err != nil {
		return err
	}
	indexes := make([]string, 0, len(loads))
	for index := range loads {
		indexes = append(indexes, index)
	}
	slices.SortFunc(indexes, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for i, index := range indexes {
		out.Sense(fmt.Sprintf("processor %d", i+1), float64(gosnmp.ToBigInt(loads[index].Value).Int64()), "%")
	}
	return nil
}

func (r *Reader) sensors(out *telemetry.Reading) error {
	values, err := r.column(sensorValue)
	if err != nil || len(values) == 0 {
		return err
	}
	columns := map[string]map[string]gosnmp.SnmpPDU{}
	for _, oid := range []string{sensorType, sensorScale, sensorPrecision, sensorStatus, entPhysicalName} {
		if columns[oid], err = r.column(oid); err != nil {
			return err
		}
	}
	number := func(oid, index string) int64 {
		if v, has := columns[oid][index]; has {
			return gosnmp.ToBigInt(v.Value).Int64()
		}
		return 0
	}
	for index, v := range values {
		unit, known := units[number(sensorType, index)]
		if !known || number(sensorStatus, index) != 1 {
			continue
		}
		name := text(columns[entPhysicalName][index])
		if name == "" {
			name = "sensor " + index
		}
		// A scale of 9 (EntitySensorDataScale) is 10^0, and each step is a factor of 1,000.
		exponent := 3*(number(sensorScale, index)-9) - number(sensorPrecision, index)
		out.Sense(name, float64(gosnmp.ToBigInt(v.Value).Int64())*math.Pow10(int(exponent)), unit)
	}
	return nil
}

func text(v gosnmp.SnmpPDU) string {
	b, _ := v.Value.([]byte)
	return string(b)
}

// dial connects to the device.
func (c *Config) dial(ctx context.Context) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx, "udp", c.Address)
	}
	return (&net.Dialer{}).DialContext(ctx, "udp", c.Address)
}
