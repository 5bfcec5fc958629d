// Package jsonstream reads and writes large objects as JSON, member by member. A list of objects
// is read and written object by object, so that the text is never in memory as a whole.
package jsonstream
