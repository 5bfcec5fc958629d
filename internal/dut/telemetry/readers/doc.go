// Package readers finds the reader of a device by the description in its bed.
package readers
