package trex

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// zlibMagic begins a message that is compressed; the length of the plain text
	// follows, both big endian in 32 bits, and then the zlib stream.
	zlibMagic = 0xabe85cea
	zlibHead  = 8
	// compressAbove is the size in bytes from which messages are compressed.
	compressAbove = 4096
	// maxRequest is the largest request in bytes that the server reads.
	maxRequest = 999_999
	// maxAnswer bounds the plain size of a compressed answer.
	maxAnswer = 64 << 20
)

// pack frames a message for the wire.
func pack(plain []byte) ([]byte, error) {
	if len(plain) <= compressAbove {
		return plain, nil
	}
	var b bytes.Buffer
	b.Write(binary.BigEndian.AppendUint32(nil, zlibMagic))
	b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(plain))))
	w := zlib.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("compressing a message: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing a message: %w", err)
	}
	return b.Bytes(), nil
}

// unpack is the opposite of pack. The server answers a compressed request with a
// compressed answer, however short.
func unpack(wire []byte) ([]byte, error) {
	if len(wire) < zlibHead || binary.BigEndian.Uint32(wire) != zlibMagic {
		return wire, nil
	}
	size := binary.BigEndian.Uint32(wire[4:])
	if size > maxAnswer {
		return nil, fmt.Errorf("a compressed message declares %d bytes of plain text, more than %d", size, maxAnswer)
	}
	r, err := zlib.NewReader(bytes.NewReader(wire[zlibHead:]))
	if err != nil {
		return nil, fmt.Errorf("reading a compressed message: %w", err)
	}
	defer r.Close()
	plain, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err != nil {
		return nil, fmt.Errorf("reading a compressed message: %w", err)
	}
	if len(plain) != int(size) {
		return nil, fmt.Errorf("a compressed message declares %d bytes of plain text, but has %d or more", size, len(plain))
	}
	return plain, nil
}
