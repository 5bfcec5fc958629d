// Package netiftest changes and reads how interfaces of devices under test receive, for
// tests.
package netiftest
