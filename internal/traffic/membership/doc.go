// Package membership writes the reports by which a host joins and leaves
// multicast groups, and reads the queries that it answers: IGMPv3 (RFC 3376) for
// IPv4 and MLDv2 (RFC 3810) for IPv6. It only makes and reads Ethernet frames;
// the sender keeps the memberships.
package membership
