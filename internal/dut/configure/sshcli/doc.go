// Package sshcli configures devices by their command line over SSH.
package sshcli
