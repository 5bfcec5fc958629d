package manifest

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong in a manifest.
type Problem struct {
	// File as it was given, and the line in it (from 1; 0 when it is not known).
	File string
	Line int
	// Document in the file, from 1, and how many the file has.
	Document, Documents int
	// Object is kind and name: `Benchmark "router"`; empty when they are not known.
	Object string
	// Field is the path to the field: spec.tests[0].throughput.maxLoad; empty
	// when the problem is not with one field.
	Field string
	// Text describes the error. Suggestion contains what was probably meant, or is empty.
	Text, Suggestion string
}

// String is the problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Documents > 1 {
		fmt.Fprintf(&b, " (document %d)", p.Document)
	}
	b.WriteString(": ")
	if p.Object != "" {
		b.WriteString(p.Object + ": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Text)
	if p.Suggestion != "" {
		b.WriteString("; " + p.Suggestion)
	}
	return b.String()
}

// InvalidError lists everything that is wrong in the manifests.
type InvalidError struct {
	// Problems in the order of the files.
	Problems []Problem
}

// Error puts one problem on each line.
func (e *InvalidError) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	lines := []string{fmt.Sprintf("the manifests have %d problems:", len(e.Problems))}
	for _, p := range e.Problems {
		lines = append(lines, "  "+p.String())
	}
	return strings.Join(lines, "\n")
}
