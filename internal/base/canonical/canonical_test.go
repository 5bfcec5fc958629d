package canonical

import (
	"bytes"
	"encoding/json"
	"testing"
)

// throughValues is the canonical form of a text by way of its values: what JSON returned first.
func throughValues(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	return encoded(plain)
}

// FuzzJSON compares the canonical form of any JSON with the form that it has by way of its values.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`null`, `0`, `-1.50e+3`, `""`, `[]`, `{}`, `[[],{}]`, `"a\u003cb<\/\u00e9\"\\"`, "\"\u2028\xff\"", `"\ud800"`,
		`{"b":1,"a":{"d":[1,2,{"z":null,"y":true}],"c":"x"}}`, `{"a":1,"a":2,"":3}`, `{"\u0062":1,"a":2}`, ` [ 1 , { "b" : 2 , "a" : [ ] } ] `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		want, err := throughValues(text)
		if err != nil {
			t.Skip("nested too deeply for values")
		}
		got, err := JSON(json.RawMessage(text))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q is %q, want %q: %v", text, got, want, err)
		}
	})
}
