// Package signed puts a result into an envelope with a signature (DSSE, the Dead Simple Signing
// Envelope), as an in-toto statement (version 1) whose predicate is the result, and opens such
// envelopes. Keys are Ed25519 or ECDSA in PEM files.
package signed
