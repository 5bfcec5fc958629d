// Package admission refuses what cannot work at the moment it is applied: what
// crosses the fields and objects that CustomResourceDefinitions can compare.
//
// Benchmarks are looked at when they are created, test beds and reservations also when their
// description changes. Objects that are being deleted, and changes of status, metadata or
// spec.abort, always pass, so that everything can be ended or removed while the operator is
// unavailable.
package admission
