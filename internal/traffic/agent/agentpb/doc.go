// Package agentpb is the wire format of package agent, generated from
// agent.proto with protoc (Debian: protobuf-compiler).
package agentpb

//go:generate sh generate.sh
