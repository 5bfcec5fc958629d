// Package endpoint is the local end of the sessions of routing protocols: the network
// namespace of a port, the addresses that its interface gets for them, and the options of their
// sockets: time to live and TCP MD5 (RFC 2385).
package endpoint
