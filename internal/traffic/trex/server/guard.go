//go:build linux

package server

import (
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// loopback is the name of the loopback interface as the kernel compares it.
var loopback = []byte("lo\x00")

// guardTable names the table of a server's rules.
func guardTable(rpc int) *nftables.Table {
	return &nftables.Table{Name: fmt.Sprintf("nodrop-trex-%d", rpc), Family: nftables.TableFamilyINet}
}

// guard restricts the server's RPC to the loopback interface. The server listens at every
// address without authentication; rules of this network namespace drop TCP to its two
// ports from every other interface, IPv4 and IPv6. Rules of an earlier server are
// replaced.
func guard(rpc int) error {
	conn, err := nftables.New()
	if err != nil {
		return guardFailed(err)
	}
	table := guardTable(rpc)
	conn.AddTable(table) // so that there is one to delete
	conn.DelTable(table)
	conn.AddTable(table)
	accept := nftables.ChainPolicyAccept
	chain := conn.AddChain(&nftables.Chain{
		Name: "input", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: nftables.ChainPriorityFilter, Policy: &accept,
	})
	conn.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: loopback},
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Range{Op: expr.CmpOpEq, Register: 1, FromData: port(rpc - 1), ToData: port(rpc)},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	if err := conn.Flush(); err != nil { // all of it or nothing
		return guardFailed(err)
	}
	return nil
}

// unguard removes the rules.
func unguard(rpc int) error {
	conn, err := nftables.New()
	if err == nil {
		conn.DelTable(guardTable(rpc))
		err = conn.Flush()
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("removing the packet filter of TRex's RPC: %w", err)
	}
	return nil
}

func port(number int) []byte { return binaryutil.BigEndian.PutUint16(uint16(number)) }

func guardFailed(err error) error {
	why := "the node's kernel must have nf_tables (modprobe nf_tables)"
	if errors.Is(err, unix.EPERM) {
		why = "the container needs the capability NET_ADMIN"
	}
	return fmt.Errorf("keeping TRex's RPC to the loopback interface: %w; %s", err, why)
}
