// Package service carries a run between a runner and the operator, over HTTPS with
// mutual TLS. The operator asks; the runner never needs a right on the API server.
//
//	GET  /v1/state?after=N  progress, and the rows after the first N of the log
//	POST /v1/rows           rows that are stored already, in as many pieces as needed
//	POST /v1/begin          the runner has all of them, and begins
//
// A runner measures nothing before it was asked to begin, so that it measures
// nothing that is stored. There is no call that ends a run: the operator asks once
// more and deletes the pod.
package service
