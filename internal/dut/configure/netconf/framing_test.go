package netconf

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestFrames sends messages with both kinds of framing, and reads them in pieces of one byte.
func TestFrames(t *testing.T) {
	t.Parallel()
	messages := []string{"<hello/>", "<rpc>\n##\n</rpc>", "<a>]]></a>\n", strings.Repeat("x", 200<<10)}
	for _, chunked := range []bool{false, true} {
		var wire bytes.Buffer
		f := &frames{in: &wire, chunked: chunked}
		for _, m := range messages {
			if err := f.send(m); err != nil {
				t.Fatal(err)
			}
		}
		f.out = bufio.NewReader(oneByte{&wire})
		for _, want := range messages {
			if got, err := f.receive(); err != nil || string(got) != want {
				t.Errorf("chunked %v: %q, %v, want %q", chunked, beginning(string(got)), err, beginning(want))
			}
		}
		if _, err := f.receive(); !errors.Is(err, io.EOF) {
			t.Errorf("chunked %v: %v, want the end", chunked, err)
		}
	}
}

type oneByte struct{ io.Reader }

func (r oneByte) Read(b []byte) (int, error) { return r.Reader.Read(b[:min(len(b), 1)]) }

// TestChunks reads a message of several chunks (RFC 6242 section 4.2), and refuses what is no chunk.
func TestChunks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\n#4\n<rpc\n#1\n>\n##\n":       "<rpc>",
		"\n#0\n\n##\n":                  "",
		"\n#-1\nx\n##\n":                "",
		"\n#99999999999\nx\n##\n":       "",
		"\n#67108865\nx\n##\n":          "",
		"\n#4\nrpc":                     "",
		"<rpc>":                         "",
		"\n\n\n\n\n#1\nx\n##\n":         "",
		"\n" + strings.Repeat("#", 9e3): "",
	} {
		f := &frames{out: bufio.NewReader(strings.NewReader(text)), chunked: true}
		got, err := f.receive()
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", beginning(text), got, err, want)
		}
	}
}

// FuzzReceive reads what a device sends: no message crashes the reader or lets it run for ever.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("<hello/>]]>]]>"), false)
	f.Add([]byte("\n#4\n<rpc\n#1\n>\n##\n"), true)
	f.Fuzz(func(t *testing.T, sent []byte, chunked bool) {
		c := &frames{out: bufio.NewReader(bytes.NewReader(sent)), chunked: chunked}
		for total := 0; ; {
			message, err := c.receive()
			if err != nil {
				return
			}
			if total += len(message); total > len(sent) {
				t.Fatalf("%d bytes were read of %d", total, len(sent))
			}
		}
	})
}
