// Package sshcli configures devices by their command line, over SSH or in a container.
package sshcli
