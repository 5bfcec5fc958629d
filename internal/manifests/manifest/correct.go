package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// corrected returns what was probably meant by a value that a schema refuses, as YAML,
// or "" when none of the usual slips explains it, or the value is refused only together with others.
func corrected(s *schema.Structural, value any, written string) string {
	if accepts(s, value) {
		return ""
	}
	for _, candidate := range candidates(s, value, written) {
		if accepts(s, candidate) {
			return asYAML(candidate)
		}
	}
	return ""
}

// candidates are values that are often meant: with the unit that was left out or
// misspelt, without the space before it, with quotes, as a list.
func candidates(s *schema.Structural, value any, written string) []any {
	switch s.Type {
	case "string":
		return anyOf(texts(value, written)...)
	case "integer":
		if text, isText := value.(string); isText {
			if n, err := strconv.ParseInt(strings.ReplaceAll(leadingNumber(text), ",", ""), 10, 64); err == nil {
				return []any{n}
			}
		}
	case "boolean":
		switch text, _ := value.(string); strings.ToLower(text) {
		case "true", "yes", "y", "on":
			return []any{true}
		case "false", "no", "n", "off":
			return []any{false}
		}
	case "array":
		if s.Items == nil {
			return nil
		}
		var parts []any
		if text, isText := value.(string); isText {
			for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
				parts = append(parts, item(s.Items, part))
			}
		}
		if len(parts) > 0 {
			return []any{parts}
		}
		return []any{[]any{item(s.Items, value)}}
	case "object":
		if text, isText := value.(string); isText {
			var all []any
			for _, name := range []string{"name", "kind", "interface"} {
				if _, known := s.Properties[name]; known {
					all = append(all, map[string]any{name: item(new(s.Properties[name]), text)})
				}
			}
			if _, known := s.Properties[text]; known {
				all = append(all, map[string]any{text: map[string]any{}})
			}
			return all
		}
	}
	return nil
}

// item returns the value as an item of a list, or as the value of another field.
func item(s *schema.Structural, value any) any {
	if accepts(s, value) {
		return value
	}
	for _, candidate := range candidates(s, value, fmt.Sprint(value)) {
		if accepts(s, candidate) {
			return candidate
		}
	}
	return value
}

func anyOf(texts ...string) []any {
	var all []any
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

var (
	numberAndUnit = regexp.MustCompile(`^([0-9][0-9_]*(?:[.,][0-9]+)?)\s*([^0-9.,\s].*)?$`)
	numberAtFront = regexp.MustCompile(`^[0-9][0-9,_]*`)
)

func leadingNumber(text string) string { return numberAtFront.FindString(strings.TrimSpace(text)) }

// units are the units that fields know, by what people write for them; longer words
// come after those that they begin with.
var units = map[string][]string{
	"s":    {"s", "sec", "secs", "second", "seconds"},
	"ms":   {"ms", "msec", "msecs", "millis", "millisecond", "milliseconds"},
	"us":   {"us", "usec", "micros", "microsecond", "microseconds"},
	"m":    {"m", "min", "mins", "minute", "minutes"},
	"h":    {"h", "hr", "hrs", "hour", "hours"},
	"%":    {"%", "percent", "pct", "prozent"},
	"G":    {"g", "gb", "gbit", "gbps", "gbe", "gbit/s", "gb/s", "ge", "gig"},
	"M":    {"m", "mb", "mbit", "mbps", "mbe", "mbit/s", "mb/s"},
	"Gbps": {"gbps", "gbit", "gbit/s", "gb/s", "g"},
	"Mbps": {"mbps", "mbit", "mbit/s", "mb/s", "m"},
	"kbps": {"kbps", "kbit", "kbit/s", "kb/s"},
	"Mpps": {"mpps", "mfps", "mf/s", "mframes/s", "m pps", "m fps"},
	"kpps": {"kpps", "kfps", "kf/s", "k pps"},
	"pps":  {"pps", "fps", "frames/s", "packets/s", "f/s"},
}

// unitOrder is the order in which a number without a unit is tried with one.
var unitOrder = []string{"%", "s", "ms", "us", "m", "h", "G", "M", "Gbps", "Mbps", "kbps", "Mpps", "kpps", "pps"}

// texts are the texts that a value may stand for.
func texts(value any, written string) []string {
	text := strings.TrimSpace(written)
	all := []string{text}
	if m := numberAndUnit.FindStringSubmatch(text); m != nil {
		number, given := strings.ReplaceAll(strings.ReplaceAll(m[1], "_", ""), ",", "."), strings.ToLower(strings.TrimSpace(m[2]))
		if n, err := strconv.ParseInt(number, 10, 32); err == nil && given == "" && n%1000 == 0 {
			all = append(all, strconv.FormatInt(n/1000, 10)+"G")
		}
		for _, unit := range unitOrder {
			for _, word := range units[unit] {
				if given == word || given == "" {
					all = append(all, number+unit)
				}
			}
		}
		if n, err := strconv.ParseInt(number, 10, 32); err == nil && slices.Contains([]string{"d", "day", "days"}, given) {
			all = append(all, strconv.FormatInt(24*n, 10)+"h")
		}
		// Speeds are whole numbers: 2.5G is 2500M.
		if n, ok := new(big.Rat).SetString(number); ok && slices.Contains(units["G"], given) {
			if n.Mul(n, big.NewRat(1000, 1)); n.IsInt() {
				all = append(all, n.Num().String()+"M")
			}
		}
	}
	if address, err := netip.ParseAddr(text); err == nil {
		bits := 24
		if address.Is6() {
			bits = 64
		}
		all = append(all, netip.PrefixFrom(address, bits).String())
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		all = append(all, prefix.Addr().String())
	}
	return append(all, asName(text))
}

// asName is a text in the form of a name: lower case, with dashes.
func asName(text string) string {
	return strings.Trim(strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(text)), "-")
}

// accepts reports whether a schema accepts a value.
func accepts(s *schema.Structural, value any) bool {
	if items, isList := value.([]any); isList && len(items) == 0 {
		return false
	}
	if !hasType(s.Type, value) || !inBounds(s.ValueValidation, value) {
		return false
	}
	items, _ := value.([]any)
	for _, item := range items {
		if s.Items == nil || !accepts(s.Items, item) {
			return false
		}
	}
	if fields, isObject := value.(map[string]any); isObject {
		for name, member := range fields {
			if property, known := s.Properties[name]; !known || !accepts(&property, member) {
				return false
			}
		}
		return true
	}
	rules := cel.NewValidator(s, false, celconfig.PerCallLimit)
	if rules == nil {
		return true
	}
	errs, _ := rules.Validate(context.Background(), nil, s, value, nil, celconfig.RuntimeCELCostBudget)
	return len(errs) == 0
}

func hasType(name string, value any) bool {
	switch value.(type) {
	case string:
		return name == "string"
	case int64:
		return name == "integer"
	case bool:
		return name == "boolean"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func inBounds(v *schema.ValueValidation, value any) bool {
	if v == nil {
		return true
	}
	switch value := value.(type) {
	case string:
		n := int64(len(value))
		return (v.MaxLength == nil || n <= *v.MaxLength) && (v.MinLength == nil || n >= *v.MinLength) && (len(v.Enum) == 0 || enumHas(v.Enum, value))
	case int64:
		return (v.Minimum == nil || float64(value) >= *v.Minimum) && (v.Maximum == nil || float64(value) <= *v.Maximum)
	}
	return true
}

func enumHas(enum []schema.JSON, value string) bool {
	for _, one := range enum {
		if one.Object == value {
			return true
		}
	}
	return false
}

// plainText is text that YAML reads as text without quotes.
var plainText = regexp.MustCompile(`^[0-9.]*[A-Za-z%/][A-Za-z0-9.%/-]*$|^[0-9.]+%$|^[0-9]+([.][0-9]+){3}(/[0-9]+)?$`)

// boolean words of YAML 1.1, which need quotes as text.
var booleanWord = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)

// asYAML writes a value as it stands in a manifest.
func asYAML(value any) string {
	switch value := value.(type) {
	case string:
		if plainText.MatchString(value) && !booleanWord.MatchString(value) {
			return value
		}
		return strconv.Quote(value)
	case []any:
		var parts []string
		for _, item := range value {
			parts = append(parts, asYAML(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for name, member := range value {
			parts = append(parts, name+": "+asYAML(member))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	text, _ := json.Marshal(value)
	return string(text)
}
