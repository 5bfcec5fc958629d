package netconf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// endOfMessage ends messages of the first kind of framing (RFC 6242 section 4.3), which hello messages always have.
const endOfMessage = "]]>]]>"

// maxMessage is the longest message that is read, in bytes.
const maxMessage = 64 << 20

var errTooLong = fmt.Errorf("a message is longer than %d MiB", maxMessage>>20)

// frames are the messages of a session.
type frames struct {
	in  io.Writer
	out *bufio.Reader
	// chunked reports whether both sides use the framing of base:1.1 (RFC 6242 section 4.2).
	chunked bool
}

// send writes one message.
func (f *frames) send(message string) error {
	if f.chunked {
		message = fmt.Sprintf("\n#%d\n%s\n##\n", len(message), message)
	} else {
		message += endOfMessage
	}
	_, err := io.WriteString(f.in, message)
	return err
}

// receive reads one message.
func (f *frames) receive() ([]byte, error) {
	if f.chunked {
		return f.receiveChunks()
	}
	var message []byte
	for {
		part, err := f.out.ReadSlice('>')
		message = append(message, part...)
		if rest, ended := bytes.CutSuffix(message, []byte(endOfMessage)); ended {
			return rest, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(message) > maxMessage {
			return nil, errTooLong
		}
	}
}

func (f *frames) receiveChunks() ([]byte, error) {
	var message bytes.Buffer
	for {
		header, err := f.header()
		if err != nil {
			return nil, err
		}
		if header == "#" {
			return message.Bytes(), nil
		}
		size, err := strconv.ParseUint(header, 10, 32)
		if err != nil || size == 0 {
			return nil, fmt.Errorf("a chunk begins with %q: want its size", header)
		}
		if uint64(message.Len())+size > maxMessage {
			return nil, errTooLong
		}
		if _, err := io.CopyN(&message, f.out, int64(size)); err != nil {
			return nil, err
		}
	}
}

// header reads the line before a chunk, or behind the last one, without its first character.
func (f *frames) header() (string, error) {
	for range 3 { // An empty line comes before it, and another one behind a message that ends with one.
		line, err := f.out.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if text := strings.TrimRight(string(line), "\r\n"); text != "" {
			header, is := strings.CutPrefix(text, "#")
			if !is {
				return "", fmt.Errorf("a chunk begins with %q: want # and its size", text[:min(len(text), 40)])
			}
			return header, nil
		}
	}
	return "", errors.New("a chunk begins with empty lines: want # and its size")
}
