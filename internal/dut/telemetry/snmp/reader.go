package snmp

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	sysDescr        = ".1.3.6.1.2.1.1.1.0"
	sysUpTime       = ".1.3.6.1.2.1.1.3.0"
	hrProcessorLoad = ".1.3.6.1.2.1.25.3.3.1.2"
	entPhysicalName = ".1.3.6.1.2.1.47.1.1.1.1.7"
	sensorType      = ".1.3.6.1.2.1.99.1.1.1.1"
	sensorScale     = ".1.3.6.1.2.1.99.1.1.1.2"
	sensorPrecision = ".1.3.6.1.2.1.99.1.1.1.3"
	sensorValue     = ".1.3.6.1.2.1.99.1.1.1.4"
	sensorStatus    = ".1.3.6.1.2.1.99.1.1.1.5"
)

// units of sensors by their type (EntitySensorDataType); others are left out.
var units = map[int64]string{3: "V", 4: "V", 5: "A", 6: "W", 7: "Hz", 8: "°C", 9: "%", 10: "rpm", 11: "m³/min", 14: "dBm"}

// Reader reads one device.
type Reader struct {
	config Config
	// client is nil until the first reading, and after one that failed.
	client *gosnmp.GoSNMP
	// indexes of the interfaces of the bed by their names; nil until they are known. They may be others after a restart.
	indexes map[string]string
	// up is the time since the start of the agent at the last reading.
	up time.Duration
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
	reading := &telemetry.Reading{}
	return reading, r.ask(ctx, func() error { return r.read(reading) })
}

// Facts implements telemetry.Reader.
func (r *Reader) Facts(ctx context.Context) (*telemetry.Facts, error) {
	facts := &telemetry.Facts{}
	return facts, r.ask(ctx, func() error { return r.facts(facts) })
}

// ask connects and calls f, which sends requests. After an error the next call connects anew.
func (r *Reader) ask(ctx context.Context, f func() error) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	r.client.Context = ctx
	conn := r.client.Conn
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	if err := f(); err != nil {
		r.Close()
		return fmt.Errorf("reading the device at %s by SNMP: %w", r.config.Address, r.explained(err))
	}
	return nil
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

func (r *Reader) read(out *telemetry.Reading) error {
	system, err := r.client.Get([]string{sysUpTime})
	if err != nil {
		return err
	}
	if out.Up = upTime(system); out.Up == 0 {
		return errors.New("it does not report sysUpTime")
	}
	if out.Up < r.up {
		r.indexes = nil
	}
	r.up = out.Up
	if err := r.interfaces(out); err != nil {
		return err
	}
	if err := r.processors(out); err != nil {
		return err
	}
	return r.sensors(out)
}

// upTime returns the time since the agent started; 0 if it is not in an answer.
func upTime(answer *gosnmp.SnmpPacket) time.Duration {
	for _, v := range answer.Variables {
		if v.Type == gosnmp.TimeTicks {
			return time.Duration(gosnmp.ToBigInt(v.Value).Int64()) * 10 * time.Millisecond
		}
	}
	return 0
}

// maxRows bounds a table, so that a device cannot fill the memory.
const maxRows = 20_000

// column reads a column of a table by its index; a device without it has none.
func (r *Reader) column(oid string) (map[string]gosnmp.SnmpPDU, error) {
	values := map[string]gosnmp.SnmpPDU{}
	err := r.client.BulkWalk(oid, func(v gosnmp.SnmpPDU) error {
		if len(values) == maxRows {
			return fmt.Errorf("its table %s has more than %d rows", oid, maxRows)
		}
		values[strings.TrimPrefix(v.Name, oid+".")] = v
		return nil
	})
	return values, err
}

func (r *Reader) processors(out *telemetry.Reading) error {
	loads, err := r.column(hrProcessorLoad)
	if err != nil {
		return err
	}
	for i, index := range slices.SortedFunc(maps.Keys(loads), byNumber) {
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
