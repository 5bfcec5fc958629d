package manifest

import (
	"strconv"

	yamlnode "go.yaml.in/yaml/v3"
)

// source is the text of a document in its file, with the lines of its fields.
type source struct {
	file string
	// index of the document in the file, from 1, and the number of its documents.
	index, of int
	// text is preceded by as many empty lines as the file has lines before it.
	text []byte
	// line is the first line of the text.
	line        int
	parsedNodes *yamlnode.Node
}

// root is the object with its lines, nil where it cannot be reas.
func (s *source) root() *yamlnode.Node {
	if s.parsedNodes == nil {
		s.parsedNodes = &yamlnode.Node{}
		_ = yamlnode.Unmarshal(s.text, s.parsedNodes) // What is wrong is reported where the object is reas.
	}
	if len(s.parsedNodes.Content) == 0 {
		return nil
	}
	return s.parsedNodes.Content[0]
}

// nodeAt is the value of a field as it is written, nil where it is not.
func (s *source) nodeAt(path string) *yamlnode.Node {
	node := s.root()
	for _, step := range splitPath(path) {
		if node == nil {
			return nil
		}
		_, node = enter(node, step)
	}
	return node
}

// written returns the text of a value as the file has it, without quotes; empty for
// several values or none.
func (s *source) written(path string) string {
	if node := s.nodeAt(path); node != nil && node.Kind == yamlnode.ScalarNode {
		return node.Value
	}
	return ""
}

// lineOf finds the line of a field, or of the nearest object around it that is
// written in the file.
func (s *source) lineOf(path string) int {
	node := s.root()
	if node == nil {
		return s.line
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
