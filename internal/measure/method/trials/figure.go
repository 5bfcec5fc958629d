package trials

import (
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
)

// Figure is the most telling number of a row.
type Figure struct {
	// Number orders figures of one test.
	Number int64
	// Text is the number for a person, with its unit and the load: "2.377 us at 90%".
	Text string
}

// LoadFigure is the load of a row, as it left the tester, as its figure. Its text has the digits
// that the search supports.
func LoadFigure(row *v1alpha1.ResultRow) (Figure, bool) {
	ppm := Offered(row).LineRatePPM
	text := Percent(Supported(row).LineRatePPM)
	if OfFullLoad(row) {
		text += " of full load"
	}
	return Figure{ppm, text}, true
}

// LossFigure is the share of lost frames.
func LossFigure(row *v1alpha1.ResultRow) (Figure, bool) {
	frames := row.Frames.OrZero()
	switch {
	case frames.LossPPM == nil:
		return Figure{}, false
	case frames.Lost == 0:
		return Figure{*frames.LossPPM, "none lost" + AtLoad(row)}, true
	}
	return Figure{*frames.LossPPM, fmt.Sprintf("%s lost%s", Percent(*frames.LossPPM), AtLoad(row))}, true
}

// TimeFigure is a number of nanoseconds.
func TimeFigure(ns int64) Figure { return Figure{ns, TimeText(ns)} }

// CountFigure is a number of something, which may be known as a lower bound only.
func CountFigure(n int64, what string, atLeast bool) Figure {
	text := traffic.Grouped(n) + " " + what
	if atLeast {
		text = "at least " + text
	}
	return Figure{n, text}
}

// AtLoad is the load of a row: " at 90%", with what left the tester where that is another
// load: " at 100% (offered 0.5832%)".
func AtLoad(row *v1alpha1.ResultRow) string {
	if row.Load == "" {
		return ""
	}
	text := " at " + string(row.Load)
	if OfferedOther(row) {
		text += fmt.Sprintf(" (offered %s)", Percent(Offered(row).LineRatePPM))
	}
	return text
}

// Figure is a number of the column with its name.
func (c Column) Figure(n int64) Figure {
	switch c.Unit {
	case YesNo:
		return Figure{n, c.FullName() + map[int64]string{0: ": no", 1: ": yes"}[n]}
	case PPM:
		return Figure{n, fmt.Sprintf("%s %s", c.Heading, Percent(n))}
	case Nanoseconds, LongNanoseconds:
		return Figure{n, fmt.Sprintf("%s %s", c.FullName(), TimeText(n))}
	case BitsPerSecond:
		return Figure{n, fmt.Sprintf("%s %s", c.FullName(), RateText(n))}
	}
	return Figure{n, fmt.Sprintf("%s %s", c.FullName(), traffic.Grouped(n))}
}

// RateText writes bits per second in Mbit/s with one decimal, rounded half up: "9,421.4 Mbit/s".
func RateText(bits int64) string {
	tenths := (bits + 50_000) / 100_000
	return fmt.Sprintf("%s.%d Mbit/s", traffic.Grouped(tenths/10), tenths%10)
}

// TimeText writes nanoseconds with three decimals of the unit that fits, rounded
// half up: "2.377 us", "1.250 s".
func TimeText(ns int64) string {
	unit, name := int64(1_000), "us"
	switch {
	case ns >= 1_000_000_000:
		unit, name = 1_000_000_000, "s"
	case ns >= 1_000_000:
		unit, name = 1_000_000, "ms"
	}
	thousandths := (ns + unit/2_000) / (unit / 1_000)
	return fmt.Sprintf("%s.%03d %s", traffic.Grouped(thousandths/1000), thousandths%1000, name)
}
