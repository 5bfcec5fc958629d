package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Without a terminal the runtime marks each piece of output: a byte with its stream, three of zero, and the length.
const (
	headerSize     = 8
	standardOutput = 1
	standardError  = 2
)

// next returns the stream and the length of the next piece. It fails with io.EOF at the end of the output.
func (p *process) next() (stream byte, length int64, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(p.from, header[:]); err != nil {
		return 0, 0, err
	}
	if header[0] > standardError || header[1] != 0 || header[2] != 0 || header[3] != 0 {
		return 0, 0, fmt.Errorf("the runtime sends output in an unknown form: % x", header)
	}
	return header[0], int64(binary.BigEndian.Uint32(header[4:])), nil
}

// collect copies the output until it ends.
func (p *process) collect(out, problems io.Writer) error {
	for {
		stream, length, err := p.next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		to := out
		if stream == standardError {
			to = problems
		}
		if _, err := io.CopyN(to, p.from, length); err != nil {
			return err
		}
	}
}

// both returns a reader of both streams, in their order.
func (p *process) both() io.Reader {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(p.collect(w, w)) }()
	return r
}
