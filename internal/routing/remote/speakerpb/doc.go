// Package speakerpb is the wire format of package remote, generated from
// speaker.proto with protoc (Debian: protobuf-compiler).
package speakerpb

//go:generate sh generate.sh
