// Package manifest reads benchmarks and what they refer to from YAML files, for
// runs without a cluster.
//
// A file is checked like the API server would: unknown fields are refused,
// defaults are filled in, and schema and CEL rules are evaluated from the same
// CustomResourceDefinitions, so that a manifest that is good here is good
// there, and a bad one gets the same message in both places.
//
// References are searched in the files given, and then in the other YAML
// files of the directories that these files lie in. Nothing else is searched.
package manifest
