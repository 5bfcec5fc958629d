package manifest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/schedule"
)

// document is one YAML document of a file.
type document struct {
	file        string
	index, of   int
	text        []byte
	object      map[string]any
	apiVersion  string
	kind        string
	name        string
	namespace   string
	line        int
	parsedNodes *yamlnode.Node
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
		d := &document{file: file, index: i + 1, of: len(pieces), text: piece.padded(), line: piece.line + 1}
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
	asJSON, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil {
		problem := d.notYAML(err)
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
	p := Problem{File: d.file, Line: d.lineOf(path), Document: d.index, Documents: d.of, Field: path, Text: text, Suggestion: suggestion}
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

// lineOf finds the line of a field, or of the nearest object around it that is
// written in the file.
func (d *document) lineOf(path string) int {
	node := d.root()
	if node == nil {
		return d.line
	}
	line := node.Line
	for _, step := range splitPath(path) {
		key, value := enter(node, step)
		if value == nil {
			break
		}
		line, node = key.Line, value
	}
	return line
}

// nodeAt is the value of a field as it is written, nil where it is not.
func (d *document) nodeAt(path string) *yamlnode.Node {
	node := d.root()
	for _, step := range splitPath(path) {
		if node == nil {
			return nil
		}
		_, node = enter(node, step)
	}
	return node
}

// written is the text of a value as it stands in the file, without quotes; empty for
// what is not one value.
func (d *document) written(path string) string {
	if node := d.nodeAt(path); node != nil && node.Kind == yamlnode.ScalarNode {
		return node.Value
	}
	return ""
}

// root is the object of the document with its lines, nil where it cannot be read.
func (d *document) root() *yamlnode.Node {
	if d.parsedNodes == nil {
		d.parsedNodes = &yamlnode.Node{}
		_ = yamlnode.Unmarshal(d.text, d.parsedNodes) // What is wrong is reported where the object is read.
	}
	if len(d.parsedNodes.Content) == 0 {
		return nil
	}
	return d.parsedNodes.Content[0]
}

// enter returns the nodes of a key and its value in a mapping, or of an item of
// a sequence.
func enter(node *yamlnode.Node, step string) (key, value *yamlnode.Node) {
	if node == nil {
		return nil, nil
	}
	if node.Kind == yamlnode.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yamlnode.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	case yamlnode.SequenceNode:
		if i := indexOf(step); i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
		// Items of a set or a map are named by value in some messages.
		for _, item := range node.Content {
			if item.Kind == yamlnode.ScalarNode && strconv.Quote(item.Value) == step {
				return item, item
			}
		}
	}
	return nil, nil
}

// indexOf is the index that a step of a path names, -1 where it names none.
func indexOf(step string) int {
	if i, err := strconv.Atoi(step); err == nil {
		return i
	}
	return -1
}
