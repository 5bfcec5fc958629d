package trex

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// astfProfile is the server's description of what clients and servers do: astf.json in the manual of TRex.
type astfProfile struct {
	// Buffers are data that programs send, in base64.
	Buffers  []string       `json:"buf_list"`
	Pools    []astfPool     `json:"ip_gen_dist_list"`
	Programs []astfProgram  `json:"program_list"`
	Clients  []astfTemplate `json:"templates"`
	Groups   []string       `json:"tg_names"`
	// ClientOptions and ServerOptions are the settings of TCP at both ends.
	ClientOptions astfOptions `json:"c_glob_info"`
	ServerOptions astfOptions `json:"s_glob_info"`
}

// astfPool are the addresses of clients ("c") or servers ("s").
type astfPool struct {
	Direction    string `json:"dir"`
	Distribution string `json:"distribution"`
	First        string `json:"ip_start"`
	Last         string `json:"ip_end"`
	Offset       string `json:"ip_offset"`
}

// astfProgram contains the commands of an end of a connection, which it executes one after the other. It closes the connection after the last one.
type astfProgram struct {
	Commands []params `json:"commands"`
}

// The commands of programs.
func astfSend(buffer int) params     { return params{"name": "tx", "buf_index": buffer} }
func astfReceive(bytes int64) params { return params{"name": "rx", "min_bytes": bytes} } // since the beginning
func astfSet(value int64) params     { return params{"name": "set_var", "id": 0, "val": value} }
func astfRepeat() params             { return params{"name": "jmp_nz", "id": 0, "offset": -1} } // the command before
func astfHold(microseconds int64) params {
	return params{"name": "delay", "usec": microseconds}
}

// astfTemplate are connections of a kind.
type astfTemplate struct {
	Client astfClient `json:"client_template"`
	Server astfServer `json:"server_template"`
}

type astfClient struct {
	Cluster   params  `json:"cluster"`
	PerSecond float64 `json:"cps"`
	Limit     int     `json:"limit"`
	Addresses struct {
		Client astfIndex `json:"dist_client"`
		Server astfIndex `json:"dist_server"`
	} `json:"ip_gen"`
	Port    int `json:"port"`
	Program int `json:"program_index"`
}

type astfIndex struct {
	Index int `json:"index"`
}

type astfServer struct {
	Listens []astfPort `json:"assoc"`
	Program int        `json:"program_index"`
}

type astfPort struct {
	Port int `json:"port"`
}

// astfOptions are settings of an end.
type astfOptions struct {
	TCP astfTCP `json:"tcp"`
}

// astfTCP are the settings of TCP of an end. The server returns none of them.
type astfTCP struct {
	// MSS in bytes.
	MSS int `json:"mss"`
	// ReceiveBuffer and SendBuffer in bytes.
	ReceiveBuffer int `json:"rxbufsize"`
	SendBuffer    int `json:"txbufsize"`
	// KeepInit is the number of seconds after which a connection that is not established is dropped.
	KeepInit int `json:"keepinit"`
	// Control is the number of the congestion control.
	Control int `json:"cc_algo"`
}

const (
	// astfPortNumber is the TCP port of servers.
	astfPortNumber = 80
	// astfBuffer is the size of the buffers of TCP in bytes, at both ends: the window of a connection.
	astfBuffer = 4 << 20
	// headerBytes are the headers of IPv4 and TCP in a packet, without options.
	headerBytes = 40
	// astfOffset is the distance of the addresses of further pairs of ports, which are not used.
	astfOffset = "1.0.0.0"
)

// newASTFProfile returns a profile of connections between two addresses, with n connections at a rate per second.
func newASTFProfile(client, server netip.Addr, n int, perSecond float64, tcp astfTCP, programs [2]astfProgram, buffers ...[]byte) astfProfile {
	p := astfProfile{
		Programs: programs[:], Groups: []string{}, ClientOptions: astfOptions{tcp}, ServerOptions: astfOptions{tcp},
		Pools: []astfPool{
			{"c", "seq", client.String(), client.String(), astfOffset},
			{"s", "seq", server.String(), server.String(), astfOffset},
		},
	}
	for _, b := range buffers {
		p.Buffers = append(p.Buffers, base64.StdEncoding.EncodeToString(b))
	}
	c := astfClient{Cluster: params{}, PerSecond: perSecond, Limit: n, Port: astfPortNumber}
	c.Addresses.Server.Index = 1
	p.Clients = []astfTemplate{{Client: c, Server: astfServer{Listens: []astfPort{{astfPortNumber}}, Program: 1}}}
	return p
}

// text writes the profile.
func (p astfProfile) text() (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("writing a profile for TRex: %w", err)
	}
	return string(text), nil
}

// randomBytes returns bytes that no device makes smaller, the same for each call.
func randomBytes(n int, seed byte) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // never fails
	return data
}
