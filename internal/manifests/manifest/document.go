package manifest

import (
	"bytes"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/manifests/schedule"
)

// document is one YAML document of a file.
type document struct {
	source     source
	object     map[string]any
	apiVersion string
	kind       string
	name       string
	namespace  string
	// overridden are the overrides of the document by path; nil before any was looked at.
	overridden map[string]string
	// asMeant reports whether this is an amended document: it is read also where its definition
	// refuses fields, unless they make it unreadable. refused are these fields and those
	// whose value was corrected, and incomplete are objects with unknown fields.
	asMeant, unreadable bool
	refused, incomplete []string
	// schedule is the schedule from which a benchmark was made, by a cell of its matrix; nil
	// for a document that was written as it is.
	schedule *document
	cell     *schedule.Cell
}

// parseDocuments divides a file into its documents. Empty ones are left out.
func parseDocuments(file string, text []byte) ([]*document, error) {
	text, err := readable(text)
	if err != nil {
		return nil, &InvalidError{Problems: []Problem{{File: file, Text: err.Error()}}}
	}
	pieces := splitDocuments(text)
	var documents []*document
	var problems []Problem
	for i, piece := range pieces {
		d := &document{source: source{file: file, index: i + 1, of: len(pieces), text: piece.padded(), line: piece.line + 1}}
		if problem := d.parse(); problem != nil {
			problems = append(problems, *problem)
			continue
		}
		if d.object != nil {
			documents = append(documents, d)
		}
	}
	if problems != nil {
		return documents, &InvalidError{Problems: problems}
	}
	return documents, nil
}

type piece struct {
	line int // lines before it
	text []byte
}

// padded puts as many empty lines before the document as the file has, so that every
// parser reports the line numbers of the file.
func (p piece) padded() []byte {
	return append(bytes.Repeat([]byte("\n"), p.line), p.text...)
}

// splitDocuments cuts at lines that begin with "---". Pieces that hold nothing
// but space and comments are left out, so that they do not count as documents.
func splitDocuments(text []byte) []piece {
	var pieces []piece
	current, empty := piece{}, true
	end := func(next int) {
		if !empty {
			pieces = append(pieces, current)
		}
		current, empty = piece{line: next}, true
	}
	for i, line := range bytes.SplitAfter(text, []byte("\n")) {
		trimmed := bytes.TrimSpace(line)
		if rest, found := bytes.CutPrefix(line, []byte("---")); found && (len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' ' || rest[0] == '\t') {
			end(i)
		} else if len(trimmed) > 0 && trimmed[0] != '#' {
			empty = false
		}
		current.text = append(current.text, line...)
	}
	end(0)
	return pieces
}

// parse reads the object of the document, and says what keeps it from being one.
func (d *document) parse() *Problem {
	asJSON, err := yaml.YAMLToJSONStrict(d.source.text)
	if err != nil {
		problem := d.source.notYAML(err)
		return &problem
	}
	var value any
	if err := utiljson.Unmarshal(asJSON, &value); err != nil {
		problem := d.problem("", "parsing: "+err.Error(), "")
		return &problem
	}
	if value == nil {
		return nil
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		problem := d.problem("", "is not an object: a manifest begins with apiVersion and kind", "")
		return &problem
	}
	d.object = object
	d.identify()
	return nil
}

// identify reads kind and name of the object.
func (d *document) identify() {
	d.apiVersion, _ = d.object["apiVersion"].(string)
	d.kind, _ = d.object["kind"].(string)
	metadata, _ := d.object["metadata"].(map[string]any)
	d.name, _ = metadata["name"].(string)
	d.namespace, _ = metadata["namespace"].(string)
}

// problem describes what is wrong with a field of the document; an empty path
// means the document as a whole.
func (d *document) problem(path, text, suggestion string) Problem {
	if d.schedule != nil {
		return d.schedule.problem(d.inSchedule(path), text, suggestion)
	}
	p := Problem{File: d.source.file, Line: d.source.lineOf(path), Document: d.source.index, Documents: d.source.of, Field: path, Text: text, Suggestion: suggestion}
	for set, override := range d.overridden {
		if path == set || strings.HasPrefix(path, set+".") || strings.HasPrefix(path, set+"[") {
			p.File, p.Line, p.Documents = "--set "+override, 0, 1
		}
	}
	if d.kind != "" {
		p.Object = fmt.Sprintf("%s %q", d.kind, d.name)
	}
	return p
}
