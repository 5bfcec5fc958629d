// Package pki issues the certificates of one benchmark: an authority that lives
// only while Issue runs, and one certificate each for the operator, the runner
// and every agent. No other certificate can be signed afterwards, because
// the authority's key is never returned.
//
// Both ends of every connection authenticate over TLS 1.3, and each end names the
// one peer that it accepts: a certificate of the right authority with
// another name is refused, so that an agent cannot pose as a runner.
//
// IssueServer makes a serving certificate in the same way, for the webhooks.
package pki
