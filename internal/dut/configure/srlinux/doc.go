// Package srlinux reads the configurations of Nokia SR Linux, as "info" and "info flat" print them, and finds the commands that lead from one
// to another.
package srlinux
