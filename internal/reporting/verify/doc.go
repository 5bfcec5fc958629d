// Package verify recomputes the figures of a result from the trials that it contains, without the
// lab that measured it. It shares definitions with the methods, which are the types of the API and
// the plan of who sends to whom, and none of their arithmetic. A figure that cannot be recomputed
// is checked for consistency with others, and the report counts and names such figures.
package verify
