package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// The register of the ICRC of a notification that a ConnectX-4 Lx sent (scapy, test/contrib/roce.uts)
// is the sum of the constant and of a register that begins with zero behind the local route header.
// Over IPv6 the function for whole packets has the same ICRC.
func TestCNPRegister(t *testing.T) {
	ipv4, err := hex.DecodeString("45c2003c718c4000401191610a0011010a001201" + "000012b700280000" + "8100ffff4000011800000000" +
		"00000000000000000000000000000000" + "82fd002a")
	if err != nil {
		t.Fatal(err)
	}
	ipv6 := append([]byte{0x6c, 0x20, 0, 0, 0, 40, 17, 64, 15: 1, 39: 2}, ipv4[ipv4Bytes:]...)
	binary.LittleEndian.PutUint32(ipv6[len(ipv6)-icrcBytes:], ICRC(ipv6))
	for is6, ip := range map[bool][]byte{false: ipv4, true: ipv6} {
		masked, ones := bytes.Clone(ip[:len(ip)-icrcBytes]), []int{1, 8, 10, 11, ipv4Bytes + 6, ipv4Bytes + 7, ipv4Bytes + udpBytes + 4}
		if is6 {
			masked[0] |= 0xf
			ones = []int{1, 2, 3, 7, ipv6Bytes + 6, ipv6Bytes + 7, ipv6Bytes + udpBytes + 4}
		}
		for _, at := range ones {
			masked[at] = 0xff
		}
		if got, want := ^(CRCRegister(0, masked) ^ CNPRegister(is6)), binary.LittleEndian.Uint32(ip[len(ip)-icrcBytes:]); got != want {
			t.Errorf("IPv6 %v: ICRC %08x, want %08x", is6, got, want)
		}
	}
}
