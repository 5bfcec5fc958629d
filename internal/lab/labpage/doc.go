// Package labpage serves the lab page: beds, queue, reservations, schedules and results of
// the lab, for browsers. It only reads. What a person sees is what the API server would
// let the same person read: the page asks it who the person is, and what they may list.
//
// Lists come from caches, so that a view of them is no request to the API server. Rows of
// results are in no cache: a report reads them, and keeps those of a finished benchmark for
// a while.
package labpage
