// Package frame knows the sizes of Ethernet frames and the arithmetic of line
// rate, without rounding: a frame costs 20 bytes on the wire in addition to its own
// (7 preamble, 1 start delimiter, 12 inter-frame gap), so that a port of speed s
// carries at most s / (8 * (size + 20)) frames per second (RFC 2544 section 20,
// appendix B). Shares of it are in parts per million. Rates are rationals until they are
// printed.
package frame
