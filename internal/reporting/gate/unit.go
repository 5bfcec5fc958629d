package gate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/traffic"
)

// Unit of the values of a metric.
type Unit int

// The units.
const (
	// Number is a whole number.
	Number Unit = iota
	// FramesPerSecond is a whole number of frames/s.
	FramesPerSecond
	// PPM is a share in parts per million.
	PPM
	// PPB is a share in parts per billion.
	PPB
	// Nanoseconds is a time.
	Nanoseconds
	// YesNo is 1 for yes and 0 for no.
	YesNo
)

// String is the unit as it is in a document; empty for a number, whose metric says what is
// counted.
func (u Unit) String() string {
	return [...]string{"", "frames/s", "ppm", "ppb", "ns", "yes/no"}[u]
}

// Form describes how to write a bound of the unit.
func (u Unit) Form() string {
	switch u {
	case PPM:
		return "a percentage with at most four decimals, such as 99.5%"
	case PPB:
		return "a percentage with at most seven decimals, such as 0.001%"
	case Nanoseconds:
		return "a time with one of the units ns, us, ms, s, m and h, such as 50us"
	case YesNo:
		return "yes or no"
	case FramesPerSecond:
		return "a whole number of frames/s, such as 1488095 or 14.88M"
	}
	return "a whole number, such as 4000 or 10k"
}

var sharePattern = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,7}))?%$`)

// Parse returns a bound in the unit. It fails on a text of another form.
func (u Unit) Parse(bound v1alpha1.GateBound) (int64, error) {
	text := string(bound)
	bad := fmt.Errorf("give %s", u.Form())
	switch u {
	case PPM, PPB:
		m := sharePattern.FindStringSubmatch(text)
		decimals := 4
		if u == PPB {
			decimals = 7
		}
		if m == nil || len(m[2]) > decimals {
			return 0, bad
		}
		return strconv.ParseInt(m[1]+(m[2] + "0000000")[:decimals], 10, 64)
	case Nanoseconds:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, bad
		}
		return int64(d), nil
	case YesNo:
		switch text {
		case "yes":
			return 1, nil
		case "no":
			return 0, nil
		}
		return 0, bad
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 || q.Format != resource.DecimalSI {
		return 0, bad
	}
	n, whole := q.AsInt64()
	if !whole { // a value such as 14.88M has a scale of its own
		n = q.ScaledValue(0)
		back := resource.NewQuantity(n, resource.DecimalSI)
		if back.Cmp(q) != 0 {
			return 0, bad
		}
	}
	return n, nil
}

// Text is a value for a person, as exactly as it is.
func (u Unit) Text(value int64) string {
	switch u {
	case PPM:
		return string(v1alpha1.FormatPPM(value))
	case PPB:
		text := fmt.Sprintf("%d.%07d", value/10_000_000, value%10_000_000)
		return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
	case Nanoseconds:
		if value >= 1_000_000 && value%1_000 != 0 || value >= 1_000_000_000 && value%1_000_000 != 0 {
			return fmt.Sprintf("%s.%03d us", traffic.Grouped(value/1_000), value%1_000)
		}
		return trials.TimeText(value)
	case YesNo:
		return map[bool]string{false: "no", true: "yes"}[value != 0]
	}
	return traffic.Grouped(value)
}

// Text is a value of a document for a person, by the unit of its gate; a dash where there is none.
func Text(n *int64, unit string) string {
	if n == nil {
		return "-"
	}
	for _, u := range []Unit{PPM, PPB, Nanoseconds, YesNo} {
		if u.String() == unit {
			return u.Text(*n)
		}
	}
	return strings.TrimSpace(traffic.Grouped(*n) + " " + unit)
}
