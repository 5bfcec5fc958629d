package gnmi

import (
	"fmt"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
)

// TestLeaves reads containers in JSON as devices of some vendors send them.
func TestLeaves(t *testing.T) {
	t.Parallel()
	text := `{"openconfig-platform:component": [{"name": "PSU1", "power-supply": {"state": {"output-power": "Q9MgAA=="}}}, {"name": "Fan1", "fan": {"state": {"speed": 4200}}}]}`
	got := leaves([]*gnmi.Update{{Path: gnmiaccess.Path("components"), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}}})
	var out []string
	for _, l := range got {
		v, is := l.number()
		out = append(out, fmt.Sprint(l.key("component", "name"), l.names(), v, is))
	}
	want := "[PSU1/components/component/name0 false PSU1/components/component/power-supply/state/output-power422.25 true Fan1/components/component/fan/state/speed4200 true Fan1/components/component/name0 false]"
	if fmt.Sprint(out) != want {
		t.Errorf("%v, want %s", out, want)
	}
	for name, v := range map[string]*gnmi.TypedValue{
		"decimal": {Value: &gnmi.TypedValue_DecimalVal{DecimalVal: &gnmi.Decimal64{Digits: 42225, Precision: 2}}}, //nolint:staticcheck // Older devices send it.
		"float":   {Value: &gnmi.TypedValue_FloatVal{FloatVal: 422.25}},
		"double":  {Value: &gnmi.TypedValue_DoubleVal{DoubleVal: 422.25}},
		"bytes":   {Value: &gnmi.TypedValue_BytesVal{BytesVal: []byte{0x43, 0xd3, 0x20, 0}}},
		"string":  {Value: &gnmi.TypedValue_StringVal{StringVal: "422.25"}},
	} {
		if n, is := (leaf{nil, valueOf(v)}).number(); !is || n != 422.25 {
			t.Errorf("%s: %v, %v", name, n, is)
		}
	}
}

// FuzzLeaves reads what a device may send.
func FuzzLeaves(f *testing.F) {
	f.Add([]byte(`{"a:b": [{"name": 1, "c": {"d": "Q9MgAA=="}}, 2, null], "e": 1e999}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, l := range leaves([]*gnmi.Update{{Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: text}}}}) {
			_, _ = l.number()
			_, _ = l.counter()
			if l.name() == "" && len(l.path) > 1 && l.path[len(l.path)-1].Name != "" && gnmiaccess.Local(l.path[len(l.path)-1].Name) != "" {
				t.Errorf("%v has no name", l)
			}
		}
	})
}
