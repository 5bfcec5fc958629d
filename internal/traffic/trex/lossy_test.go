package trex_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// dropEvery is the number of frames to a UDP port of which one is dropped.
const dropEvery = 20

// dropSome makes the bridge of this network namespace drop exactly every 20th frame
// to each of the UDP ports 7 and 8. Each port is counted on its own, or of two
// streams that take turns one would lose twice as much.
func dropSome() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("making a lossy device: %w", err)
	}
	for _, port := range []uint16{7, 8} {
		dropTo(conn, "lossy", port,
			&expr.Numgen{Register: 1, Type: unix.NFT_NG_INCREMENTAL, Modulus: dropEvery},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.NativeEndian.AppendUint32(nil, 0)},
		)
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("making a lossy device: %w; the kernel must have nf_tables for bridges", err)
	}
	return nil
}

// limitSome makes the bridge pass so many frames a second to UDP port 9. It holds up to
// depth frames of more.
func limitSome(t *testing.T, perSecond, depth uint64) {
	t.Helper()
	conn, err := nftables.New()
	if err != nil {
		t.Fatal(err)
	}
	// A limit that is there is replaced.
	conn.DelTable(conn.AddTable(&nftables.Table{Name: "limited", Family: nftables.TableFamilyBridge}))
	dropTo(conn, "limited", 9, &expr.Limit{Type: expr.LimitTypePkts, Rate: perSecond, Over: true, Unit: expr.LimitTimeSecond, Burst: uint32(depth)})
	if err := conn.Flush(); err != nil {
		t.Fatalf("limiting the rate of the bridge: %v; the kernel must have nft_limit", err)
	}
}

// dropTo adds a rule that drops frames to a UDP port which match, in a table of its name.
func dropTo(conn *nftables.Conn, name string, port uint16, matches ...expr.Any) {
	accept := nftables.ChainPolicyAccept
	table := conn.AddTable(&nftables.Table{Name: name, Family: nftables.TableFamilyBridge})
	chain := conn.AddChain(&nftables.Chain{
		Name: "forward", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter, Policy: &accept,
	})
	rule := []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_UDP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, port)},
	}
	rule = append(rule, matches...)
	conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: append(rule, &expr.Verdict{Kind: expr.VerdictDrop})})
}
