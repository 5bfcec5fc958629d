// Package tcpmodel simulates TCP incast packet by packet: one client asks N servers at once for a block each, and the
// servers send through one switch whose buffer is limited. It computes in virtual time and is deterministic by its seed.
// docs/design/incast-model.md describes the model, its limits, and how it compares with published figures.
package tcpmodel
