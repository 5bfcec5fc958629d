package layout

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Paper describes the destination of a text: a terminal, or with the zero value a file or a pipe.
type Paper struct {
	// Width is the number of columns; 0 is no limit.
	Width int
	// mark begins and ends a colored word; it is empty without colors.
	mark string
	// modeled is true for figures from a model, whose verdicts are never green.
	modeled bool
}

// NewPaper returns a terminal with so many columns. Verdicts are colored if mark is not empty: it is a
// secret of the writer, which replaces it, so that texts of others have no colors.
func NewPaper(width int, mark string) Paper { return Paper{Width: width, mark: mark} }

// PaperOf returns what a writer writes to.
func PaperOf(w io.Writer) Paper {
	if screen, is := w.(interface{ Paper() Paper }); is {
		return screen.Paper()
	}
	return Paper{}
}

// Modeled returns the paper for figures that were computed and not measured: nothing of them is green.
func (p Paper) Modeled() Paper {
	p.modeled = true
	return p
}

// Tone is the meaning of a verdict, as a color. Reports in HTML and the lab page use the same ones.
type Tone byte

// The tones. Words of other meanings have none.
const (
	Plain    Tone = '0'
	Good     Tone = 'g'
	Bad      Tone = 'b'
	Doubtful Tone = 'd'
)

// tones of the phases of benchmarks, verdicts of gates, validities of rows, changes of levels, and
// states of engines.
var tones = map[string]Tone{
	"Passed": Good, "Valid": Good, "improvement": Good, "Ready": Good, "Good": Good,
	"Failed": Bad, "Invalid": Bad, "Error": Bad, "Aborted": Bad, "regression": Bad, "Missing": Bad,
	"Inconclusive": Doubtful, "Uncalibrated": Doubtful, "Contended": Doubtful, "GeneratorBound": Doubtful, "Unknown": Doubtful, "Warning": Doubtful,
}

// Verdict returns a word in the color of its meaning.
func (p Paper) Verdict(word string) string { return p.tint(word, word) }

// tint returns a text in the color of a word.
func (p Paper) tint(word, text string) string {
	tone, ok := tones[word]
	if p.mark == "" || !ok || tone == Good && p.modeled || text == "" {
		return text
	}
	return p.mark + string(rune(tone)) + text + p.mark + string(rune(Plain))
}

// textWidth is the maximum length of a wrapped line.
const textWidth = 110

// Wrap breaks a sentence into lines; those after the first are indented deeper. On a terminal, words
// that are longer than a line are broken, too.
func (p Paper) Wrap(text, indent string) string {
	width := textWidth
	if p.Width > 0 {
		width = max(min(width, p.Width), utf8.RuneCountInString(indent)+len(Gap)+minColumn)
	}
	var b strings.Builder
	current, empty := indent, true
	for _, word := range strings.Fields(text) {
		switch {
		case empty:
		case length(current)+1+length(word) > width:
			b.WriteString(current + "\n")
			current = indent + Gap
		default:
			current += " "
		}
		for p.Width > 0 && length(current)+length(word) > width {
			head := []rune(word)[:width-length(current)]
			b.WriteString(current + string(head) + "\n")
			word, current = word[len(string(head)):], indent+Gap
		}
		current, empty = current+word, false
	}
	b.WriteString(current + "\n")
	return b.String()
}

// Title returns a heading. It is wrapped on a terminal only.
func (p Paper) Title(text string) string {
	if p.Width > 0 {
		return p.Wrap(text, "")
	}
	return text + "\n"
}

// Headline returns a heading that ends with a verdict.
func (p Paper) Headline(text, verdict string) string {
	plain := p.Title(text + " " + verdict)
	if head, ends := strings.CutSuffix(plain, verdict+"\n"); ends {
		return head + p.Verdict(verdict) + "\n"
	}
	return plain
}

// Frame returns a sentence that cannot be overlooked, between two lines.
func (p Paper) Frame(text string) string {
	rule := Gap + strings.Repeat("=", length(text)) + "\n"
	if p.Width > 0 && length(rule) > p.Width {
		rule = Gap + strings.Repeat("=", max(minColumn, p.Width-len(Gap))) + "\n"
		return rule + p.Wrap(text, Gap) + rule
	}
	return rule + Gap + text + "\n" + rule
}

// length is the number of characters of a text.
func length(text string) int { return utf8.RuneCountInString(text) }
