package snmp

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gosnmp/gosnmp"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// Columns of entPhysicalTable (ENTITY-MIB, RFC 6933), and the classes that are read.
const (
	entPhysicalClass    = ".1.3.6.1.2.1.47.1.1.1.1.5"
	entPhysicalSoftware = ".1.3.6.1.2.1.47.1.1.1.1.10"
	entPhysicalSerial   = ".1.3.6.1.2.1.47.1.1.1.1.11"
	entPhysicalModel    = ".1.3.6.1.2.1.47.1.1.1.1.13"

	classChassis = 3
	classModule  = 9
	classPort    = 10 // Transceivers of some devices.
)

// facts reads the system group and ENTITY-MIB, which not every device has.
func (r *Reader) facts(out *telemetry.Facts) error {
	system, err := r.client.Get([]string{sysDescr, sysUpTime})
	if err != nil {
		return err
	}
	out.Up = upTime(system)
	for _, v := range system.Variables {
		if v.Type == gosnmp.OctetString {
			out.Description = text(v)
		}
	}
	classes, err := r.column(entPhysicalClass)
	if err != nil || len(classes) == 0 {
		return err
	}
	columns := map[string]map[string]gosnmp.SnmpPDU{}
	for _, oid := range []string{entPhysicalName, entPhysicalSoftware, entPhysicalSerial, entPhysicalModel} {
		if columns[oid], err = r.column(oid); err != nil {
			return err
		}
	}
	for _, index := range slices.SortedFunc(maps.Keys(classes), byNumber) {
		has := func(oid string) string { return text(columns[oid][index]) }
		switch gosnmp.ToBigInt(classes[index].Value).Int64() {
		case classChassis:
			out.Model = cmp.Or(out.Model, has(entPhysicalModel))
			out.SerialNumber = cmp.Or(out.SerialNumber, has(entPhysicalSerial))
			out.Software = cmp.Or(out.Software, has(entPhysicalSoftware))
		case classModule, classPort:
			if has(entPhysicalModel) == "" {
				continue
			}
			module := has(entPhysicalName) + ": " + has(entPhysicalModel)
			if serial := has(entPhysicalSerial); serial != "" {
				module += ", serial number " + serial
			}
			out.Modules = append(out.Modules, module)
		}
	}
	return nil
}

// byNumber compares indexes, of which each is one number.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
