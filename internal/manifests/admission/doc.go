// Package admission refuses what cannot work at the moment it is applied: what
// crosses the fields and objects that CustomResourceDefinitions can compare.
//
// Objects are looked at when they are created, and when their description changes, which benchmarks
// may not. Changes of status, metadata or spec.abort, and of the description of other objects that are being deleted, always pass, so that everything can be ended or removed while the operator is
// unavailable.
package admission
