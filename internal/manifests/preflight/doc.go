// Package preflight says whether a benchmark can run on a bed, and what is
// wrong otherwise.
//
// It is pure, and is called twice: at admission, so that the user who applies
// a manifest reads the answer at once, and by the operator before a bed is
// leased, since profiles, beds and namespaces may have changed while the
// benchmark waited. Every message names the field, its value, what is allowed
// and what to do.
package preflight
