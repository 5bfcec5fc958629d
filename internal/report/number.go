package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/human"
	"nodrop.dev/nodrop/internal/traffic"
)

// group writes a number with a comma between thousands.
func group(n int64) string {
	if n < 0 {
		return "-" + traffic.Grouped(uint64(-n))
	}
	return traffic.Grouped(n)
}

// quantity writes how many there are of something whose plural ends in s.
func quantity(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return group(n) + " " + one + "s"
}

// fixed writes n/unit with a fixed number of decimals, rounded half up. n is at
// least 0; unit is at most 10^12 and decimals at most 4, so that nothing overflows.
func fixed(n, unit int64, decimals int) string {
	scale := int64(1)
	for range decimals {
		scale *= 10
	}
	whole, part := n/unit, (n%unit*scale+unit/2)/unit
	if part == scale {
		whole, part = whole+1, 0
	}
	return fmt.Sprintf("%s.%0*d", group(whole), decimals, part)
}

// micros writes nanoseconds as microseconds.
func micros(ns int64) string { return fixed(ns, 1000, 3) }

// share writes part of whole as a percentage. Small shares keep two digits that
// are not zero, so that a loss is never printed as 0%.
func share(part, whole int64) string {
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

// bitUnit is the unit of a column of bit rates.
type bitUnit struct {
	name string
	bits int64
}

// unitFor chooses the unit for the highest rate of a report: Tbit/s from 1 Tbit/s
// up, Mbit/s below 1 Gbit/s, and Gbit/s between.
func unitFor(highest int64) bitUnit {
	const mega, giga, tera = 1_000_000, 1_000_000_000, 1_000_000_000_000
	switch {
	case highest >= tera:
		return bitUnit{"Tbit/s", tera}
	case highest >= giga:
		return bitUnit{"Gbit/s", giga}
	}
	return bitUnit{"Mbit/s", mega}
}

// span writes a duration as people do: 1h2m3s without parts that are zero.
func span(d time.Duration) string {
	if d >= time.Minute {
		return human.Duration(d.Round(time.Second))
	}
	return human.Duration(d.Round(time.Millisecond))
}
