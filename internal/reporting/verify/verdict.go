package verify

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/reporting/report/layout"
	"nodrop.dev/nodrop/internal/traffic"
)

// Mismatch is a figure of a result that is not what its trials say.
type Mismatch struct {
	// Row names the row of the figure; empty for a figure of the whole result.
	Row string `json:"row,omitempty"`
	// Field is the path of the figure in the row, or in the document.
	Field string `json:"field"`
	// Printed is the value in the document, and Recomputed is the value that it should have.
	Printed    string `json:"printed"`
	Recomputed string `json:"recomputed"`
}

// Verdict contains what was checked of a result, and what does not agree.
type Verdict struct {
	// Recomputed is the number of figures that were recomputed from trials and settings.
	Recomputed int `json:"recomputed"`
	// Consistent is the number of figures that were only checked for consistency with others.
	Consistent int `json:"consistent"`
	// Weak names the figures that were only checked for consistency: fields by method.
	Weak []string `json:"weak,omitempty"`
	// Unchecked names the figures that were not checked.
	Unchecked []string `json:"unchecked,omitempty"`
	// WithoutTrials names the rows that have figures and no trials, such as rows of earlier
	// versions.
	WithoutTrials []string `json:"withoutTrials,omitempty"`
	// Digest states whether the digest of the content is as the document contains it.
	Digest string `json:"digest"`
	// Mismatches in the order of the document.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
}

// Holds reports whether all figures agree with the trials.
func (v *Verdict) Holds() bool { return len(v.Mismatches) == 0 }

// maxListed is the number of names that the text lists.
const maxListed = 40

// Write writes the verdict for a person.
func (v *Verdict) Write(w io.Writer) error {
	var b strings.Builder
	p := layout.PaperOf(w)
	for _, m := range v.Mismatches {
		where := m.Field
		if m.Row != "" {
			where = m.Row + ": " + m.Field
		}
		b.WriteString(p.Title(fmt.Sprintf("%s is %s, and should be %s", where, m.Printed, m.Recomputed)))
	}
	fmt.Fprintf(&b, "recomputed %s figures, checked %s for consistency only\n", traffic.Grouped(v.Recomputed), traffic.Grouped(v.Consistent))
	list(&b, p, "for consistency only", v.Weak)
	list(&b, p, "not checked", v.Unchecked)
	list(&b, p, "rows without trials", v.WithoutTrials)
	b.WriteString(p.Title("content digest: " + v.Digest))
	switch n := len(v.Mismatches); {
	case n == 1:
		b.WriteString("1 figure does not agree\n")
	case n > 1:
		fmt.Fprintf(&b, "%s figures do not agree\n", traffic.Grouped(n))
	default:
		b.WriteString("the result agrees with its trials\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func list(b *strings.Builder, p layout.Paper, title string, names []string) {
	if len(names) == 0 {
		return
	}
	shown := names[:min(len(names), maxListed)]
	text := fmt.Sprintf("%s: %s", title, strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	b.WriteString(p.Title(text))
}

// addName adds a name once.
func addName(names *[]string, name string) {
	if !slices.Contains(*names, name) {
		*names = append(*names, name)
	}
}
