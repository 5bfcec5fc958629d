package gnmi

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"

	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
)

// leaf is a value of a device, whatever the encoding is: a string, a number or a bool.
type leaf struct {
	path  []*gnmi.PathElem
	value any
}

// name is the last element of the path, without a module.
func (l leaf) name() string {
	if len(l.path) == 0 {
		return ""
	}
	return gnmiaccess.Local(l.path[len(l.path)-1].Name)
}

// parent is the element before the last one.
func (l leaf) parent() string {
	if len(l.path) < 2 {
		return ""
	}
	return gnmiaccess.Local(l.path[len(l.path)-2].Name)
}

// names are the elements of the path, each behind a slash, without modules and keys.
func (l leaf) names() string {
	var out strings.Builder
	for _, e := range l.path {
		out.WriteString("/" + gnmiaccess.Local(e.Name))
	}
	return out.String()
}

// key is a key of the last element with a name; empty for all entries.
func (l leaf) key(element, key string) string {
	for _, e := range slices.Backward(l.path) {
		if v := e.Key[key]; gnmiaccess.Local(e.Name) == element && v != "" && v != "*" {
			return v
		}
	}
	return ""
}

func (l leaf) text() string {
	switch v := l.value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// counter is a number of frames. In JSON numbers of 64 bits are strings (RFC 7951 section 6.1).
func (l leaf) counter() (uint64, bool) {
	n, err := strconv.ParseUint(l.text(), 10, 64)
	return n, err == nil
}

// number is a quantity. Some modules have floats as 4 bytes in base64 (ieeefloat32).
func (l leaf) number() (float64, bool) {
	if b, is := l.value.([]byte); is && len(b) == 4 {
		return finite(float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
	}
	v, err := strconv.ParseFloat(l.text(), 64)
	if err == nil {
		return finite(v)
	}
	if b, err := base64.StdEncoding.DecodeString(l.text()); err == nil && len(b) == 4 {
		return finite(float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
	}
	return 0, false
}

func finite(v float64) (float64, bool) { return v, !math.IsNaN(v) && !math.IsInf(v, 0) }

// leaves returns the leaves of updates: a device may send each on its own, or a container in JSON.
func leaves(updates []*gnmi.Update) (out []leaf) {
	for _, u := range updates {
		out = append(out, leavesOf(u.GetPath().GetElem(), valueOf(u.GetVal()))...)
	}
	return out
}

// maxDepth bounds containers within containers.
const maxDepth = 32

func leavesOf(path []*gnmi.PathElem, value any) (out []leaf) {
	if len(path) > maxDepth {
		return nil
	}
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := append(slices.Clone(path), &gnmi.PathElem{Name: name})
			if entries, is := v[name].([]any); is {
				for _, e := range entries {
					out = append(out, leavesOf(withKeys(at, e), e)...)
				}
				continue
			}
			out = append(out, leavesOf(at, v[name])...)
		}
		return out
	}
	return []leaf{{path, value}}
}

// withKeys returns the path of an entry of a list in JSON, whose keys are among its leaves.
func withKeys(path []*gnmi.PathElem, entry any) []*gnmi.PathElem {
	e, is := entry.(map[string]any)
	if !is {
		return path
	}
	keys := map[string]string{}
	for name, v := range e {
		if text := (leaf{nil, v}).text(); text != "" {
			keys[gnmiaccess.Local(name)] = text
		}
	}
	path = slices.Clone(path)
	path[len(path)-1] = &gnmi.PathElem{Name: path[len(path)-1].Name, Key: keys}
	return path
}

// valueOf returns a value in the types of JSON.
func valueOf(v *gnmi.TypedValue) any {
	switch v := v.GetValue().(type) {
	case *gnmi.TypedValue_StringVal:
		return v.StringVal
	case *gnmi.TypedValue_AsciiVal:
		return v.AsciiVal
	case *gnmi.TypedValue_UintVal:
		return json.Number(strconv.FormatUint(v.UintVal, 10))
	case *gnmi.TypedValue_IntVal:
		return json.Number(strconv.FormatInt(v.IntVal, 10))
	case *gnmi.TypedValue_DoubleVal:
		return json.Number(strconv.FormatFloat(v.DoubleVal, 'g', -1, 64))
	case *gnmi.TypedValue_FloatVal:
		return json.Number(strconv.FormatFloat(float64(v.FloatVal), 'g', -1, 32)) //nolint:staticcheck // Older devices send it.
	case *gnmi.TypedValue_DecimalVal:
		d := v.DecimalVal //nolint:staticcheck // Older devices send it.
		return json.Number(strconv.FormatFloat(float64(d.GetDigits())*math.Pow10(-int(d.GetPrecision())), 'g', -1, 64))
	case *gnmi.TypedValue_BoolVal:
		return v.BoolVal
	case *gnmi.TypedValue_BytesVal:
		return v.BytesVal
	case *gnmi.TypedValue_JsonIetfVal:
		return decoded(v.JsonIetfVal)
	case *gnmi.TypedValue_JsonVal:
		return decoded(v.JsonVal)
	}
	return nil
}

func decoded(text []byte) (v any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil
	}
	return v
}
