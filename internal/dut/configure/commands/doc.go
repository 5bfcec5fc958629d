// Package commands configures devices by commands that run on them, and does not know how these get there: by SSH, or by the
// runtime of a container.
package commands
