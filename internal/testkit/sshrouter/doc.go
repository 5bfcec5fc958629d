// Package sshrouter starts a real router behind a real OpenSSH server, for tests of what configures devices.
package sshrouter
