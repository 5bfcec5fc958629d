// Package sshaccess connects to devices by SSH: it accepts given host keys only, bounds the handshake, and
// notices a device that no longer answers.
package sshaccess
