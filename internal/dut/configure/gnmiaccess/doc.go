// Package gnmiaccess connects to devices that are configured and read by gNMI (OpenConfig, over gRPC and TLS), and knows by which
// certificates and credentials.
package gnmiaccess
