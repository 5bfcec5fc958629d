/* The signature of a test frame, right after its last header, big endian. The
 * payload follows it. The UDP checksum covers it; in a frame without a network
 * layer its own checksum (RFC 1071) of 16 bits follows it.
 *
 *   0  magic     u16
 *   2  epoch     u16   trial
 *   4  stream    u16
 *   6  sequence  u48   from 0 in every trial
 *   12 time      u48   CLOCK_MONOTONIC in ns
 *
 * 18 bytes: an IPv4 frame of 64 bytes holds exactly this. */
#pragma once

#define MAGIC 0xd50f
#define MASK48 ((1ULL << 48) - 1)

#define SIGNATURE_SIZE 18
#define ETHERNET_CHECK_SIZE 2
/* Of an untagged frame over IPv4, for the devices of tests. */
#define IPV4_SIGNATURE 42
