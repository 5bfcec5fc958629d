// Package sshrouter starts real devices behind a real OpenSSH server, for tests of what configures devices: a router,
// and Linux with its packet filter.
package sshrouter
