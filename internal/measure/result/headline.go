package result

import (
	"fmt"
	"strings"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/measure/method"
)

const (
	// maxHeadline is the maximum number of bytes of the text of a headline.
	maxHeadline = 256
	// maxListed is the maximum number of figures that a headline lists; for more it shows
	// the range.
	maxListed = 8
)

// Headlines are one per test, in the order in which the tests first occur: its most
// telling result in a few words. However many rows there are, a text has at most 256
// bytes.
func Headlines(rows []v1alpha1.ResultRow) []v1alpha1.Headline {
	var tests []string
	byTest := map[string][]*v1alpha1.ResultRow{}
	for i := range rows {
		name := rows[i].Test
		if byTest[name] == nil {
			tests = append(tests, name)
		}
		byTest[name] = append(byTest[name], &rows[i])
	}
	headlines := make([]v1alpha1.Headline, len(tests))
	for i, name := range tests {
		headlines[i] = v1alpha1.Headline{Test: name, Text: headline(byTest[name])}
	}
	return headlines
}

// headline returns the figures of the rows of one test for each variant: all of them, or
// their range if that is too long.
func headline(rows []*v1alpha1.ResultRow) string {
	var variants []v1alpha1.VariantName
	byVariant := map[v1alpha1.VariantName][]*v1alpha1.ResultRow{}
	for _, row := range rows {
		if byVariant[row.Variant] == nil {
			variants = append(variants, row.Variant)
		}
		byVariant[row.Variant] = append(byVariant[row.Variant], row)
	}
	var texts []string
	for _, write := range []func([]figure) string{listed, ranged} {
		texts = nil
		for _, variant := range variants {
			text := write(figures(byVariant[variant]))
			if variant != "" {
				text = string(variant) + ": " + text
			}
			texts = append(texts, text)
		}
		if all := strings.Join(texts, "; "); len(all) <= maxHeadline {
			return all
		}
	}
	return shortened(texts)
}

// shortened are as many texts as fit, and how many more there are.
func shortened(texts []string) string {
	for n := len(texts) - 1; n > 0; n-- {
		text := fmt.Sprintf("%s; and %d more variants", strings.Join(texts[:n], "; "), len(texts)-n)
		if len(text) <= maxHeadline {
			return text
		}
	}
	return human.Cut(texts[0], maxHeadline)
}

// figure is the most telling number of a test at one frame size.
type figure struct {
	// size is the frame size or mix, or empty.
	size string
	// text is the number with what it is: "58%", "3,999 frames".
	text string
	// number orders figures of one test; only where ordered.
	number  int64
	ordered bool
}

func (f figure) String() string { return strings.TrimPrefix(f.size+" "+f.text, " ") }

// figures returns the figures of the rows of a test in one variant, one per frame size or
// mix.
func figures(rows []*v1alpha1.ResultRow) []figure {
	var sizes []v1alpha1.RowID
	bySize := map[v1alpha1.RowID][]*v1alpha1.ResultRow{}
	for _, row := range rows {
		size := v1alpha1.RowID{FrameSize: row.FrameSize, FrameMix: row.FrameMix}
		if bySize[size] == nil {
			sizes = append(sizes, size)
		}
		bySize[size] = append(bySize[size], row)
	}
	all := make([]figure, len(sizes))
	for i, size := range sizes {
		row := telling(bySize[size])
		all[i] = figureOf(row)
		all[i].size = size.SizeName()
		if !Trusted(row.Validity) && all[i].ordered {
			all[i].text += fmt.Sprintf(" (%s)", row.Validity)
		}
	}
	return all
}

// listed lists figures. Three and more sizes in a row that say the same are one: "64 B
// to 1518 B 100%". Very many are not listed.
func listed(all []figure) string {
	var texts []string
	for i := 0; i < len(all); {
		same := i + 1
		for same < len(all) && all[same].text == all[i].text {
			same++
		}
		if same-i < 3 {
			texts = append(texts, all[i].String())
			i++
			continue
		}
		texts = append(texts, fmt.Sprintf("%s to %s %s", all[i].size, all[same-1].size, all[i].text))
		i = same
	}
	if len(texts) > maxListed {
		return ranged(all)
	}
	return strings.Join(texts, ", ")
}

// ranged returns the lowest and the highest figure, and their number: "58% at 64 B to 100%
// at 9216 B, 64 sizes".
func ranged(all []figure) string {
	if len(all) == 1 {
		return all[0].String()
	}
	var low, high *figure
	for i := range all {
		f := &all[i]
		if !f.ordered {
			continue
		}
		if low == nil || f.number < low.number {
			low = f
		}
		if high == nil || f.number > high.number {
			high = f
		}
	}
	if low == nil {
		return fmt.Sprintf("%s at %s and %d more sizes", all[0].text, all[0].size, len(all)-1)
	}
	if low == high || low.text == high.text {
		return fmt.Sprintf("%s at %s, %d sizes", low.text, low.size, len(all))
	}
	return fmt.Sprintf("%s at %s to %s at %s, %d sizes", low.text, low.size, high.text, high.size, len(all))
}

// Count counts rows by their validity, in the order in which validities are
// documented. Those that no row has are left out.
func Count(rows []v1alpha1.ResultRow) []v1alpha1.ValidityCount {
	count := map[v1alpha1.Validity]int32{}
	for i := range rows {
		count[rows[i].Validity]++
	}
	var all []v1alpha1.ValidityCount
	for _, v := range inOrder {
		if count[v] > 0 {
			all = append(all, v1alpha1.ValidityCount{Validity: v, Rows: count[v]})
		}
	}
	return all
}

// telling is the row that says most of a test at one frame size: that of the lowest
// loss ratio, without loss where the method asks for it, and at the highest load.
func telling(rows []*v1alpha1.ResultRow) *v1alpha1.ResultRow {
	best := rows[0]
	for _, row := range rows[1:] {
		if before(best, row) {
			best = row
		}
	}
	return best
}

// before reports whether a row says more than another one of its test and size.
func before(known, row *v1alpha1.ResultRow) bool {
	if row.LossRatioPPM != known.LossRatioPPM {
		return row.LossRatioPPM < known.LossRatioPPM
	}
	a, b := known.Frames.OrZero(), row.Frames.OrZero()
	if d, _ := method.Describe(row.Method); d.Lossless && (a.Lost > 0) != (b.Lost > 0) {
		return a.Lost > 0
	}
	return b.LineRatePPM > a.LineRatePPM
}

// figureOf is the most telling number of a row.
func figureOf(row *v1alpha1.ResultRow) figure {
	f, ok := method.FigureOf(row)
	if !ok {
		return figure{text: "not measured"}
	}
	return figure{number: f.Number, text: f.Text, ordered: true}
}
