package v1alpha1

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// PPM is a share in parts per million: 1,000,000 is the whole.
const PPM int64 = 1_000_000

// Percentage is a share of line rate in human form, such as "99.994%".
//
// It is above 0% and at most 100%, with up to four decimals, so that every
// value is a whole number of parts per million.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=9
// +kubebuilder:validation:XValidation:rule="self.matches('^(100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)%$') && !self.matches('^0+([.]0+)?%$')",messageExpression="'\"' + self + '\" is not a percentage of line rate: give a number above 0% and up to 100% with at most four decimals, such as 99.994%'"
type Percentage string

var percentagePattern = regexp.MustCompile(`^([0-9]{1,3})(?:\.([0-9]{1,4}))?%$`)

// PPM returns the share in parts per million (1 to 1,000,000).
// It fails when the text is not a percentage above 0% and up to 100%.
func (p Percentage) PPM() (int64, error) {
	m := percentagePattern.FindStringSubmatch(string(p))
	if m == nil {
		return 0, fmt.Errorf("%q is not a percentage: give a number above 0%% and up to 100%% with at most four decimals, such as 99.994%%", string(p))
	}
	v, err := strconv.ParseInt(m[1]+(m[2] + "0000")[:4], 10, 64)
	if err != nil || v <= 0 || v > PPM {
		return 0, fmt.Errorf("%q is out of range: give a percentage above 0%% and up to 100%%", string(p))
	}
	return v, nil
}

// PPM returns the ratio in parts per million (0 to 999,999). It fails when the text
// is not a percentage below 100%.
func (r LossRatio) PPM() (int64, error) {
	m := percentagePattern.FindStringSubmatch(string(r))
	if m == nil {
		return 0, fmt.Errorf("%q is not a loss ratio: give a percentage of the frames sent below 100%% with at most four decimals, such as 0.5%%", string(r))
	}
	v, err := strconv.ParseInt(m[1]+(m[2] + "0000")[:4], 10, 64)
	if err != nil || v >= PPM {
		return 0, fmt.Errorf("%q is out of range: give a loss ratio below 100%%", string(r))
	}
	return v, nil
}

// FormatPPM writes parts per million as a percentage with the fewest decimals
// that keep it exact: 696875 is "69.6875%".
func FormatPPM(ppm int64) Percentage {
	s := fmt.Sprintf("%d.%04d", ppm/10_000, ppm%10_000)
	return Percentage(strings.TrimRight(strings.TrimRight(s, "0"), ".") + "%")
}

// BitRate is a nominal port speed in human form: a whole number with the
// decimal suffix M or G, such as "100G", in bit/s at layer 1. Its form is checked
// where a bed gives it; in results it is only repeated.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=7
type BitRate string

var bitRatePattern = regexp.MustCompile(`^([1-9][0-9]{0,5})([MG])$`)

// BitsPerSecond returns the rate in bit/s. It fails on malformed text.
func (b BitRate) BitsPerSecond() (int64, error) {
	m := bitRatePattern.FindStringSubmatch(string(b))
	if m == nil {
		return 0, fmt.Errorf("%q is not a port speed: give a whole number with the suffix M or G, such as 10G", string(b))
	}
	v, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parsing port speed %q: %w", string(b), err)
	}
	if m[2] == "G" {
		return v * 1_000_000_000, nil
	}
	return v * 1_000_000, nil
}
