package snmp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gosnmp/gosnmp"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// Names of interfaces.
const (
	ifDescr = ".1.3.6.1.2.1.2.2.1.2"
	ifName  = ".1.3.6.1.2.1.31.1.1.1.1"
)

// counters are the columns of ifTable with frames that a device dropped or found damaged.
var counters = map[string]string{
	".1.3.6.1.2.1.2.2.1.13": "input discards",
	".1.3.6.1.2.1.2.2.1.14": "input errors",
	".1.3.6.1.2.1.2.2.1.19": "output discards",
	".1.3.6.1.2.1.2.2.1.20": "output errors",
}

// interfaces reads the counters of the bed's interfaces one by one, or of all interfaces.
func (r *Reader) interfaces(out *telemetry.Reading) error {
	if len(r.config.Interfaces) == 0 {
		return r.allInterfaces(out)
	}
	if r.indexes == nil {
		if err := r.findInterfaces(); err != nil {
			return err
		}
	}
	var oids []string
	of := map[string]string{}
	for name, index := range r.indexes {
		for column, what := range counters {
			oid := column + "." + index
			of[oid] = what + " of " + name
			oids = append(oids, oid)
		}
	}
	for some := range slices.Chunk(oids, repetitions) {
		answer, err := r.client.Get(some)
		if err != nil {
			return err
		}
		for _, v := range answer.Variables {
			add(out, of[v.Name], v)
		}
	}
	return nil
}

// findInterfaces finds the indexes of the interfaces of the bed.
func (r *Reader) findInterfaces() error {
	names, err := r.names()
	if err != nil {
		return err
	}
	found := map[string]string{}
	for index, v := range names {
		if name := text(v); slices.Contains(r.config.Interfaces, name) {
			found[name] = index
		}
	}
	for _, name := range r.config.Interfaces {
		if _, has := found[name]; !has {
			return fmt.Errorf("it has no interface %q", name)
		}
	}
	r.indexes = found
	return nil
}

// names of interfaces by their indexes.
func (r *Reader) names() (map[string]gosnmp.SnmpPDU, error) {
	names, err := r.column(ifName)
	if err == nil && len(names) == 0 {
		return r.column(ifDescr)
	}
	return names, err
}

func (r *Reader) allInterfaces(out *telemetry.Reading) error {
	names, err := r.names()
	if err != nil {
		return err
	}
	for column, what := range counters {
		values, err := r.column(column)
		if err != nil {
			return err
		}
		for index, v := range values {
			if name := text(names[index]); name != "" {
				add(out, what+" of "+strings.TrimSpace(name), v)
			}
		}
	}
	return nil
}

// add adds the value of a counter; a device without it has another type there.
func add(out *telemetry.Reading, name string, v gosnmp.SnmpPDU) {
	switch v.Type {
	case gosnmp.Counter32:
		out.Add(name, telemetry.Counter{Value: gosnmp.ToBigInt(v.Value).Uint64(), Bits: 32})
	case gosnmp.Counter64:
		out.Add(name, telemetry.Counter{Value: gosnmp.ToBigInt(v.Value).Uint64(), Bits: 64})
	}
}
