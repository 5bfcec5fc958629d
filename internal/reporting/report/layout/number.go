package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/traffic"
)

// Group writes a number with a comma between thousands.
func Group(n int64) string {
	if n < 0 {
		return "-" + traffic.Grouped(uint64(-n))
	}
	return traffic.Grouped(n)
}

// Quantity writes how many there are of something whose plural ends in s.
func Quantity(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Group(n) + " " + one + "s"
}

// Fixed writes n/unit with a fixed number of decimals, rounded half up. n is at
// least 0; unit is at most 10^12 and decimals at most 4, so that nothing overflows.
func Fixed(n, unit int64, decimals int) string {
	scale := tens(decimals)
	whole, part := n/unit, (n%unit*scale+unit/2)/unit
	if part == scale {
		whole, part = whole+1, 0
	}
	return fmt.Sprintf("%s.%0*d", Group(whole), decimals, part)
}

// Cut is Fixed for a number that is known to a step, a power of ten: digits below the step are
// cut off, and so are decimals.
func Cut(n, unit int64, decimals int, step int64) string {
	n -= n % step
	for last := unit / tens(decimals); decimals > 0 && last < step; decimals-- {
		last *= 10
	}
	if decimals == 0 {
		return Group(n / unit)
	}
	return Fixed(n, unit, decimals)
}

// tens is a power of ten.
func tens(n int) int64 {
	power := int64(1)
	for range n {
		power *= 10
	}
	return power
}

// Micros writes nanoseconds as microseconds.
func Micros(ns int64) string { return Fixed(ns, 1000, 3) }

// Share writes part of whole as a percentage. Small shares keep two digits that
// are not zero, so that a loss is never printed as 0%.
func Share(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "0%"
	}
	percent := float64(part) / float64(whole) * 100
	for decimals := 4; decimals < 16; decimals++ {
		text := strconv.FormatFloat(percent, 'f', decimals, 64)
		if strings.Trim(text, "0.") != "" {
			return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "%"
		}
	}
	return strconv.FormatFloat(percent, 'g', 2, 64) + "%"
}

// BitUnit is the unit of a column of bit rates.
type BitUnit struct {
	Name string
	Bits int64
}

// UnitFor chooses the unit for the highest rate of a report: Tbit/s from 1 Tbit/s
// up, Mbit/s below 1 Gbit/s, and Gbit/s between.
func UnitFor(highest int64) BitUnit {
	const mega, giga, tera = 1_000_000, 1_000_000_000, 1_000_000_000_000
	switch {
	case highest >= tera:
		return BitUnit{"Tbit/s", tera}
	case highest >= giga:
		return BitUnit{"Gbit/s", giga}
	}
	return BitUnit{"Mbit/s", mega}
}

// Span writes a duration as people do: 1h2m3s without parts that are zero.
func Span(d time.Duration) string {
	if d >= time.Minute {
		return human.Duration(d.Round(time.Second))
	}
	return human.Duration(d.Round(time.Millisecond))
}
