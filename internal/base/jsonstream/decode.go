package jsonstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"

	"nodrop.dev/nodrop/internal/base/canonical"
)

// Decoder reads objects.
type Decoder struct {
	// Skip lists members that are read past.
	Skip []string
	// Element is called with a pointer to each object of a list, after it was read: what it
	// removes from the object is not kept. Nil keeps everything.
	Element func(member string, object any)
}

// Decode reads one object into the struct that into points to. Members without a field are read
// past. It fails if a member is there twice, or if text follows the object.
func (d Decoder) Decode(r io.Reader, into any) error {
	text := json.NewDecoder(r)
	if err := beginObject(text); err != nil {
		return err
	}
	target := reflect.ValueOf(into).Elem()
	seen := map[string]bool{}
	for text.More() {
		name, err := memberName(text, seen)
		if err != nil {
			return err
		}
		i, known := fieldOf(target.Type(), name)
		if !known || slices.Contains(d.Skip, name) {
			err = skip(text)
		} else {
			err = d.member(text, name, target.Field(i))
		}
		if err != nil {
			return fmt.Errorf("member %s: %w", name, unexpectedEnd(err))
		}
	}
	if _, err := text.Token(); err != nil { // its end
		return unexpectedEnd(err)
	}
	return nothingFollows(text)
}

// member reads the value of a member: a list of objects one by one, and others as a whole.
func (d Decoder) member(text *json.Decoder, name string, field reflect.Value) error {
	if !isList(field.Type()) {
		return text.Decode(field.Addr().Interface())
	}
	begin, err := text.Token()
	switch {
	case err != nil:
		return err
	case begin == nil:
		return nil
	case begin != json.Delim('['):
		return fmt.Errorf("is %v, and a list is needed", begin)
	}
	field.Set(reflect.MakeSlice(field.Type(), 0, 0))
	for text.More() {
		element := reflect.New(field.Type().Elem())
		if err := text.Decode(element.Interface()); err != nil {
			return fmt.Errorf("element %d: %w", field.Len(), err)
		}
		if d.Element != nil {
			d.Element(name, element.Interface())
		}
		field.Set(reflect.Append(field, element.Elem()))
	}
	_, err = text.Token()
	return err
}

// DigestText is the digest of an object that a text has, as canonical JSON without one of its
// members, as Digest returns it. It returns the value of that member, too: nil if there is none.
func DigestText(r io.Reader, without string) (value json.RawMessage, digest string, err error) {
	text := json.NewDecoder(r)
	text.UseNumber()
	if err := beginObject(text); err != nil {
		return nil, "", err
	}
	object, err := canonicalMembers(text)
	if err != nil {
		return nil, "", unexpectedEnd(err)
	}
	if err := nothingFollows(text); err != nil {
		return nil, "", err
	}
	value = object[without]
	delete(object, without)
	sum := sha256.New()
	err = writeJoined(sum, object)
	return value, hex.EncodeToString(sum.Sum(nil)), err
}

// canonicalValue reads a value as canonical JSON, a list element by element.
func canonicalValue(text *json.Decoder) ([]byte, error) {
	begin, err := text.Token()
	if err != nil {
		return nil, err
	}
	switch begin {
	case json.Delim('['):
		return canonicalList(text)
	case json.Delim('{'):
		object, err := canonicalMembers(text)
		if err != nil {
			return nil, err
		}
		return joined(object)
	}
	return canonical.JSON(begin)
}

// canonicalList reads a list behind its first character.
func canonicalList(text *json.Decoder) ([]byte, error) {
	list := []byte{'['}
	var element json.RawMessage // reused from element to element
	for text.More() {
		if err := text.Decode(&element); err != nil {
			return nil, err
		}
		plain, err := canonical.JSON(element)
		if err != nil {
			return nil, err
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, plain...)
	}
	_, err := text.Token()
	return append(list, ']'), err
}

// canonicalMembers reads the members of an object behind its first character, up to its end.
func canonicalMembers(text *json.Decoder) (map[string]json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	seen := map[string]bool{}
	for text.More() {
		name, err := memberName(text, seen)
		if err != nil {
			return nil, err
		}
		if object[name], err = canonicalValue(text); err != nil {
			return nil, err
		}
	}
	_, err := text.Token()
	return object, err
}

// joined is the canonical JSON of an object of whose members that is known.
func joined(object map[string]json.RawMessage) ([]byte, error) {
	var text bytes.Buffer
	err := writeJoined(&text, object)
	return text.Bytes(), err
}

func writeJoined(w io.Writer, object map[string]json.RawMessage) error {
	begin := "{"
	for _, name := range slices.Sorted(maps.Keys(object)) {
		quoted, err := canonical.JSON(name)
		if err != nil {
			return err
		}
		for _, part := range [][]byte{[]byte(begin), quoted, {':'}, object[name]} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		begin = ","
	}
	end := "}"
	if len(object) == 0 {
		end = "{}"
	}
	_, err := io.WriteString(w, end)
	return err
}

// memberName reads the name of the next member.
func memberName(text *json.Decoder, seen map[string]bool) (string, error) {
	token, err := text.Token()
	if err != nil {
		return "", unexpectedEnd(err)
	}
	name, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("%v is not the name of a member", token)
	}
	if seen[name] {
		return "", fmt.Errorf("member %q is there twice", name)
	}
	seen[name] = true
	return name, nil
}

// skip reads past a value. A list or an object is read piece by piece.
func skip(text *json.Decoder) error {
	begin, err := text.Token()
	if err != nil {
		return err
	}
	if _, container := begin.(json.Delim); !container {
		return nil
	}
	var piece json.RawMessage // reused from piece to piece
	for text.More() {
		if begin == json.Delim('{') {
			if _, err := text.Token(); err != nil {
				return err
			}
		}
		if err := text.Decode(&piece); err != nil {
			return err
		}
	}
	_, err = text.Token()
	return err
}

// beginObject reads the first character of an object.
func beginObject(text *json.Decoder) error {
	token, err := text.Token()
	if err != nil {
		return unexpectedEnd(err)
	}
	if token != json.Delim('{') {
		return fmt.Errorf("the text begins with %v, and an object is needed", token)
	}
	return nil
}

// nothingFollows reports text behind an object as an error.
func nothingFollows(text *json.Decoder) error {
	switch _, err := text.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("text follows the object")
}

// unexpectedEnd is an error of a text that ends inside the object.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
