// Package service carries a run's state from the runner to the operator: one
// read-only address, GET /v1/state, over HTTPS with mutual TLS.
//
// The operator asks; the runner never needs a right on the API server. There is
// no call that ends a run: the operator reads the state once more and deletes
// the pod.
package service
