package labobjects

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// withImage is a containerlab topology in which a node has another image. The rest of it
// stays as it is. An image of the node counts before those of its kind and its group.
func withImage(topology []byte, node string, image v1alpha1.DeviceImage) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(topology, &document); err != nil {
		return nil, fmt.Errorf("setting the image of node %s: %w", node, err)
	}
	nodes := 0
	if err := expandAliases(&document, &nodes); err != nil {
		return nil, fmt.Errorf("setting the image of node %s: %w", node, err)
	}
	at := &document
	if at.Kind == yaml.DocumentNode && len(at.Content) > 0 {
		at = at.Content[0]
	}
	for _, key := range []string{"topology", "nodes", node} {
		if at = member(at, key); at == nil {
			return nil, fmt.Errorf("setting the image of node %s: there is no topology.nodes.%s", node, node)
		}
	}
	if at.Kind != yaml.MappingNode { // A node without anything of its own is null.
		*at = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	}
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(image)}
	if old := member(at, "image"); old != nil {
		*old = *value
	} else {
		at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "image"}, value)
	}
	text, err := yaml.Marshal(&document)
	if err != nil {
		return nil, fmt.Errorf("setting the image of node %s: %w", node, err)
	}
	return text, nil
}

// maxNodes bounds the nodes of a topology with its aliases expanded, which can grow without end.
const maxNodes = 100_000

// expandAliases replaces the aliases below a node by copies of what they refer to, so that a change of
// one does not change others, and writes out what is null. It counts the nodes.
func expandAliases(n *yaml.Node, nodes *int) error {
	if *nodes++; *nodes > maxNodes {
		return fmt.Errorf("its aliases make more than %d values of it: write some of them out", maxNodes)
	}
	for n.Kind == yaml.AliasNode {
		*n = *n.Alias
	}
	n.Anchor = ""
	if n.Tag == "!!null" {
		n.Value = "null" // Nothing would be written as an empty text.
	}
	n.Content = slices.Clone(n.Content)
	for i, below := range n.Content {
		copied := *below
		n.Content[i] = &copied
		if err := expandAliases(&copied, nodes); err != nil {
			return err
		}
	}
	return nil
}

// member returns the value of a key of a mapping, or nil if the key does not exist.
func member(of *yaml.Node, key string) *yaml.Node {
	if of.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(of.Content); i += 2 {
		if of.Content[i].Value == key {
			return of.Content[i+1]
		}
	}
	return nil
}
