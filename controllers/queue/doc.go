// Package queue decides who gets which bed, and who waits at which place.
//
// It is pure: it is given what waits and which beds there are, and returns the
// whole allocation. Every caller that sees the same objects comes to the same
// answer; that a bed is never held twice does not depend on it, but on the
// optimistic lock with which the lease is written.
package queue
