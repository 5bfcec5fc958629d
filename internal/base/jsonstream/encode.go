package jsonstream

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/base/canonical"
)

// WriteIndented writes the struct that v points to as indented JSON with a line feed at its end:
// the bytes of json.MarshalIndent with two spaces.
func WriteIndented(w io.Writer, v any) error {
	buffer := bufio.NewWriterSize(w, 64<<10)
	out := &writer{w: buffer, indent: "  ", encode: func(v any, prefix string) ([]byte, error) { return json.MarshalIndent(v, prefix, "  ") }}
	out.write(reflect.ValueOf(v), "")
	out.text("\n")
	return errors.Join(out.err, buffer.Flush())
}

// Digest is the SHA-256, in lower-case hexadecimal, of the struct that v points to as canonical
// JSON: the digest of canonical.Digest.
func Digest(v any) (string, error) {
	sum := sha256.New()
	out := &writer{w: sum, sorted: true, encode: func(v any, _ string) ([]byte, error) { return canonical.JSON(v) }}
	out.write(reflect.ValueOf(v), "")
	return hex.EncodeToString(sum.Sum(nil)), out.err
}

// writer writes values piece by piece: each piece is encoded as a whole.
type writer struct {
	w io.Writer
	// indent is the text by which each level is indented; empty without white space.
	indent string
	// sorted is true if members are written in the order of their names.
	sorted bool
	// encode returns a piece as JSON, whose lines begin with a prefix.
	encode func(v any, prefix string) ([]byte, error)
	// err is the first error, after which nothing is written.
	err error
}

// write writes a value of which each line but the first begins with a prefix.
func (w *writer) write(v reflect.Value, prefix string) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil() && isDivisible(v.Type().Elem()):
		w.object(v.Elem(), prefix)
	case isDivisible(v.Type()):
		w.object(v, prefix)
	case isList(v.Type()) && v.Len() > 0:
		w.list(v, prefix)
	default:
		w.piece(v.Interface(), prefix)
	}
}

func (w *writer) object(v reflect.Value, prefix string) {
	members := membersOf(v)
	if w.sorted {
		slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	if len(members) == 0 {
		w.text("{}")
		return
	}
	w.text("{")
	for i, m := range members {
		w.begin(i, prefix)
		w.piece(m.name, "")
		w.text(":")
		if w.indent != "" {
			w.text(" ")
		}
		w.write(m.value, prefix+w.indent)
	}
	w.end("}", prefix)
}

func (w *writer) list(v reflect.Value, prefix string) {
	w.text("[")
	for i := range v.Len() {
		w.begin(i, prefix)
		w.write(v.Index(i).Addr(), prefix+w.indent)
	}
	w.end("]", prefix)
}

// begin writes what comes before a member or an element.
func (w *writer) begin(i int, prefix string) {
	if i > 0 {
		w.text(",")
	}
	if w.indent != "" {
		w.text("\n" + prefix + w.indent)
	}
}

func (w *writer) end(delimiter, prefix string) {
	if w.indent != "" {
		w.text("\n" + prefix)
	}
	w.text(delimiter)
}

func (w *writer) piece(v any, prefix string) {
	if w.err != nil {
		return
	}
	text, err := w.encode(v, prefix)
	if err == nil {
		_, err = w.w.Write(text)
	}
	w.err = err
}

func (w *writer) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.w, s)
	}
}
