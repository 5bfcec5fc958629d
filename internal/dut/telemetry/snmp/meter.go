package snmp

import (
	"context"
	"fmt"
	"math/big"

	"github.com/gosnmp/gosnmp"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// Outlet is an object with a power.
type Outlet struct {
	// OID without a dot in front, and what 1 of it is in mW.
	OID               string
	MilliwattsPerUnit int64
}

// Meter reads the power of a device as the sum of objects.
type Meter struct {
	reader  Reader
	outlets []Outlet
}

var _ telemetry.Meter = (*Meter)(nil)

// NewMeter returns a meter, which does not connect yet.
func NewMeter(c Config, outlets []Outlet) (*Meter, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Meter{Reader{config: c}, outlets}, nil
}

// Power implements telemetry.Meter.
func (m *Meter) Power(ctx context.Context) (milliwatts int64, err error) {
	err = m.reader.ask(ctx, func() (err error) {
		milliwatts, err = m.sum()
		return err
	})
	return milliwatts, err
}

func (m *Meter) sum() (int64, error) {
	var oids []string
	for _, o := range m.outlets {
		oids = append(oids, "."+o.OID)
	}
	answer, err := m.reader.client.Get(oids)
	if err != nil {
		return 0, err
	}
	values := map[string]gosnmp.SnmpPDU{}
	for _, v := range answer.Variables {
		values[v.Name] = v
	}
	sum := new(big.Int)
	for i, o := range m.outlets {
		switch v := values[oids[i]]; v.Type { //nolint:exhaustive // Others are no numbers.
		case gosnmp.Integer, gosnmp.Gauge32, gosnmp.Uinteger32, gosnmp.Counter32, gosnmp.Counter64:
			n := gosnmp.ToBigInt(v.Value)
			sum.Add(sum, n.Mul(n, big.NewInt(o.MilliwattsPerUnit)))
		default:
			return 0, fmt.Errorf("its object %s is no number: compare outlets of the meter with what snmpget prints", o.OID)
		}
	}
	if !sum.IsInt64() || sum.Sign() < 0 || sum.Int64() > mostMilliwatts {
		return 0, fmt.Errorf("its outlets have %s mW together, and at most %d are believed: compare milliwattsPerUnit with the data sheet", sum, int64(mostMilliwatts))
	}
	return sum.Int64(), nil
}

// mostMilliwatts is the largest power that a meter may report: 1 MW.
const mostMilliwatts = 1_000_000_000

// Close implements telemetry.Meter.
func (m *Meter) Close() { m.reader.Close() }
