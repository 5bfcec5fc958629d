package v1alpha1

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// LoadThroughput is the load name for the throughput that an earlier test found for the same
// frame size.
const LoadThroughput Load = "throughput"

// Load is a percentage of line rate, such as "50%"; a rate of each sending port in
// frames/s or in bit/s at layer 2 (frames with FCS, without preamble and inter-frame
// gap), such as "5Mpps" or "2.5Gbps"; or the word throughput: the rate that an earlier
// throughput test of this benchmark found for the same frame size.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:XValidation:rule="self == 'throughput' || (self.matches('^((100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)%|([0-9]{1,9}|[0-9]{1,6}([.][0-9]{1,3})?k|[0-9]{1,6}([.][0-9]{1,6})?[MG])(pps|bps))$') && !self.matches('^[0.]+[^0-9.]'))",messageExpression="'\"' + self + '\" is not a load: give a percentage of line rate above 0% and up to 100%, such as 50%, a rate of each sending port, such as 5Mpps or 2.5Gbps, or the word throughput'"
type Load string

// LoadAmount is a load that is given by its amount: a Load without the word throughput.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=17
// +kubebuilder:validation:XValidation:rule="self.matches('^((100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)%|([0-9]{1,9}|[0-9]{1,6}([.][0-9]{1,3})?k|[0-9]{1,6}([.][0-9]{1,6})?[MG])(pps|bps))$') && !self.matches('^[0.]+[^0-9.]')",messageExpression="(self == 'throughput' ? 'the word throughput is not possible here' : '\"' + self + '\" is not a load') + ': give a percentage of line rate above 0% and up to 100%, such as 50%, or a rate of each sending port, such as 5Mpps or 2.5Gbps'"
type LoadAmount string

// Amount returns the number and the unit of the load; see Load.Amount.
func (l LoadAmount) Amount() (n int64, unit LoadUnit, err error) { return Load(l).Amount() }

// IsRate reports whether the load is given in frames/s or bit/s.
func (l LoadAmount) IsRate() bool { return Load(l).IsRate() }

// LoadUnit is the unit of the number of a load.
type LoadUnit string

const (
	// LoadShare is a share of line rate in parts per million.
	LoadShare LoadUnit = "ppm"
	// LoadFrames is a rate of each sending port in frames/s.
	LoadFrames LoadUnit = "frames/s"
	// LoadBits is a rate of each sending port in bit/s at layer 2: frames with FCS,
	// without preamble and inter-frame gap.
	LoadBits LoadUnit = "bit/s"
)

// LoadHint describes the allowed loads, for messages.
const LoadHint = "give a percentage of line rate above 0% and up to 100%, such as 50%, or a rate of each sending port, such as 5Mpps or 2.5Gbps"

var (
	loadRatePattern = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,6})?)([kMG]?)(pps|bps)$`)
	loadUnits       = map[string]int64{"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}
)

// IsRate reports whether the load is given in frames/s or bit/s.
func (l Load) IsRate() bool { return loadRatePattern.MatchString(string(l)) }

// Amount returns the number of the load, above 0, and its unit. It fails on the word
// throughput, whose amount an earlier test finds, and on text that is neither a percentage of
// line rate above 0% and up to 100% nor a rate above 0 of whole frames/s or bit/s.
func (l Load) Amount() (n int64, unit LoadUnit, err error) {
	m := loadRatePattern.FindStringSubmatch(string(l))
	if m == nil {
		ppm, err := Percentage(l).PPM()
		return ppm, LoadShare, err
	}
	number, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return 0, "", fmt.Errorf("%q is not a load: %s", string(l), LoadHint)
	}
	number.Mul(number, big.NewRat(loadUnits[m[2]], 1))
	if !number.IsInt() || number.Sign() <= 0 || !number.Num().IsInt64() {
		return 0, "", fmt.Errorf("%q is not a whole number of frames or bits per second above 0: %s", string(l), LoadHint)
	}
	if m[3] == "pps" {
		return number.Num().Int64(), LoadFrames, nil
	}
	return number.Num().Int64(), LoadBits, nil
}

// FormatLoad writes an amount, which is above 0, as a load: 4,500,000 frames/s are
// "4.5Mpps".
func FormatLoad(n int64, unit LoadUnit) Load {
	suffix := "pps"
	switch unit {
	case LoadShare:
		return Load(FormatPPM(n))
	case LoadBits:
		suffix = "bps"
	}
	// With at most six decimals, which are exact.
	for _, u := range []struct {
		letter string
		exact  int64
	}{{"G", 1000}, {"M", 1}, {"k", 1}} {
		if one := loadUnits[u.letter]; n >= one && n%u.exact == 0 {
			text := new(big.Rat).SetFrac64(n, one).FloatString(6)
			return Load(strings.TrimRight(strings.TrimRight(text, "0"), ".") + u.letter + suffix)
		}
	}
	return Load(strconv.FormatInt(n, 10) + suffix)
}
