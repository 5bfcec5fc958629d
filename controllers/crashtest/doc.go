// Package crashtest has an API in memory on which an operator dies at any of its writes, for
// tests.
package crashtest
