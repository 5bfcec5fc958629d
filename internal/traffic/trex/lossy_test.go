package trex_test

import (
	"encoding/binary"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// dropEvery is how many frames of a UDP port there are to one that is dropped.
const dropEvery = 20

// dropSome makes the bridge of this network namespace drop exactly every 20th frame
// to each of the UDP ports 7 and 8. Each port is counted on its own, or of two
// streams that take turns one would lose twice as much.
func dropSome() error {
	conn, err := nftables.New()
	if err != nil {
		return fmt.Errorf("making a lossy device: %w", err)
	}
	accept := nftables.ChainPolicyAccept
	table := conn.AddTable(&nftables.Table{Name: "lossy", Family: nftables.TableFamilyBridge})
	chain := conn.AddChain(&nftables.Chain{
		Name: "forward", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter, Policy: &accept,
	})
	for _, port := range []uint16{7, 8} {
		conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_UDP}},
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, port)},
			&expr.Numgen{Register: 1, Type: unix.NFT_NG_INCREMENTAL, Modulus: dropEvery},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.NativeEndian.AppendUint32(nil, 0)},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	if err := conn.Flush(); err != nil {
		return fmt.Errorf("making a lossy device: %w; the kernel must have nf_tables for bridges", err)
	}
	return nil
}
