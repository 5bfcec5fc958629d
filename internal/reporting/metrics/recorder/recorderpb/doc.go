// Package recorderpb is the wire format of package recorder, generated from
// recorder.proto with protoc (Debian: protobuf-compiler).
package recorderpb

//go:generate sh generate.sh
