// Package objects builds test beds, benchmarks and traffic profiles for tests. A builder
// takes the name and options: metadata that every kind has, the settings that many tests
// share, and a function for a setting that only one test needs.
//
//	objects.TestBed("bed", objects.Labels(labels), objects.Physical("acme", "X1"), objects.Engine(v1alpha1.EngineXDP))
//
// A builder sets only what its options name. Defaults are set by the API server.
package objects
