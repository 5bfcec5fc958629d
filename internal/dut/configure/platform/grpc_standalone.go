//go:build standalone

package platform

var overGRPC []*Platform
