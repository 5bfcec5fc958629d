// Package containertest starts Debian's Docker with containers, for tests of what configures devices in them.
package containertest
