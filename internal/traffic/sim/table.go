package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readTable reads a CSV table with a header line, and hands over the header and
// every record with the number of its line. What says in errors which table it
// is: "device model".
func readTable(what, text string, header func([]string) error, record func(cells []string, line int) error) error {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comment = '#'
	reader.TrimLeadingSpace = true
	names, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the %s is empty: give a CSV table with a header line, see docs/simulation.md", what)
	}
	if err != nil {
		return fmt.Errorf("reading the header of the %s: %w", what, err)
	}
	if err := header(names); err != nil {
		return err
	}
	for {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the %s: %w", what, err)
		}
		line, _ := reader.FieldPos(0)
		if err := record(cells, line); err != nil {
			return err
		}
	}
}

// silent reports whether a cell makes no statement.
func silent(cell string) bool { return cell == "" || cell == "NA" }

// parseDecimal reads a number without sign as a whole number of its smallest
// decimal: "69.6875" with 4 decimals is 696875.
func parseDecimal(text string, decimals int) (int64, error) {
	integer, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	if integer == "" || len(fraction) > decimals || strings.ContainsAny(text, "+-_") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(integer+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
}

func formatDecimal(v int64, decimals int) string {
	scale := int64(1)
	for range decimals {
		scale *= 10
	}
	return strconv.FormatInt(v/scale, 10)
}
