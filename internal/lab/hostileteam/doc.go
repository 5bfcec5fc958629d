// Package hostileteam is a team that uses every right that it has in its own namespace against the
// lab: it makes objects of each kind at their largest, writes metadata as fast as it may, asks
// for admission without making anything, and opens the lab page with unknown tokens.
// It measures what a lab accepts, and has no right that a team has not.
package hostileteam
