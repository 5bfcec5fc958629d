package jsonstream_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/canonical"
	"nodrop.dev/nodrop/internal/base/jsonstream"
)

type id struct {
	Name string `json:"name"`
}

type row struct {
	id    `json:",inline"`
	Value int64  `json:"value,omitempty"`
	Text  string `json:"text"`
	List  []id   `json:"list,omitempty"`
}

type part struct {
	Rows []row `json:"rows"`
	Note *string
}

type whole struct {
	Zulu    string            `json:"zulu"`
	Rows    []row             `json:"rows"`
	More    []row             `json:"more,omitempty"`
	Part    *part             `json:"part,omitempty"`
	Nested  part              `json:"nested"`
	Labels  map[string]string `json:"labels,omitempty"`
	At      *time.Time        `json:"at,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Ratio   float64           `json:"ratio"`
	Alpha   []string          `json:"alpha"`
	Hidden  string            `json:"-"`
	private string
}

func objects() map[string]*whole {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	note := "a note"
	rows := []row{{Value: 1, Text: "<a> & \u2028"}, {Text: "é", List: []id{{"x"}}}, {}}
	return map[string]*whole{
		"zero":    {},
		"no rows": {Rows: []row{}, More: []row{}, Part: &part{}, Alpha: []string{}},
		"full": {
			Zulu: "z", Rows: rows, More: rows[1:], Part: &part{Rows: rows, Note: &note}, Nested: part{Rows: rows[:1]},
			Labels: map[string]string{"b": "2", "a": "1"}, At: &at, Raw: json.RawMessage(`{"b":1.50,"a":[1e3]}`), Ratio: 0.1, Alpha: []string{"<"}, Hidden: "h", private: "p",
		},
	}
}

// TestSameBytes compares what is written with what encoding/json writes, and what is read with
// what encoding/json reads.
func TestSameBytes(t *testing.T) {
	for name, v := range objects() {
		t.Run(name, func(t *testing.T) {
			want, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := jsonstream.WriteIndented(&got, v); err != nil || got.String() != string(want)+"\n" {
				t.Errorf("wrote %s\nwant %s\n%v", &got, want, err)
			}
			digest, err := canonical.Digest(v)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := jsonstream.Digest(v); err != nil || got != digest {
				t.Errorf("digest %s, want %s: %v", got, digest, err)
			}
			if _, got, err := jsonstream.DigestText(bytes.NewReader(want), "absent"); err != nil || got != digest {
				t.Errorf("digest of the text %s, want %s: %v", got, digest, err)
			}
			var plain, streamed whole
			if err := json.Unmarshal(want, &plain); err != nil {
				t.Fatal(err)
			}
			if err := (jsonstream.Decoder{}).Decode(bytes.NewReader(want), &streamed); err != nil || !reflect.DeepEqual(plain, streamed) {
				t.Errorf("read %+v, want %+v: %v", streamed, plain, err)
			}
		})
	}
}

// TestDigestWithout takes a member out, which the digest then does not depend on.
func TestDigestWithout(t *testing.T) {
	value, digest, err := jsonstream.DigestText(strings.NewReader(`{"b": {"y": 1.0, "x": [2, {"n": null}]}, "c": "d", "a": true}`), "c")
	if err != nil || string(value) != `"d"` {
		t.Errorf("the member is %s: %v", value, err)
	}
	if want := canonical.Sum([]byte(`{"a":true,"b":{"x":[2,{"n":null}],"y":1.0}}`)); digest != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		``:                           "unexpected EOF",
		`[]`:                         "an object is needed",
		`{"zulu": "a"`:               "unexpected EOF",
		`{"rows": [{"value": 1}`:     "member rows: unexpected EOF",
		`{"rows": 1}`:                "member rows: is 1, and a list is needed",
		`{"rows": [{}, 1]}`:          "member rows: element 1",
		`{"zulu": 1}`:                "member zulu",
		`{"zulu": "", "zulu": ""}`:   `member "zulu" is there twice`,
		`{"x": {"y": [1, 2}}`:        "member x",
		`{"zulu": ""} {}`:            "text follows the object",
		`{"zulu": ""}]`:              "invalid character",
		`{"unknown": [{"a": 1}, tru`: "unexpected EOF",
	} {
		var w whole
		if err := (jsonstream.Decoder{}).Decode(strings.NewReader(text), &w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if _, _, err := jsonstream.DigestText(strings.NewReader(text), ""); err == nil && !strings.Contains(want, "member") {
			t.Errorf("the digest of %s is no error", text)
		}
	}
}

// TestSkipAndElement reads past members, and changes objects while they are read.
func TestSkipAndElement(t *testing.T) {
	var w whole
	d := jsonstream.Decoder{Skip: []string{"more", "part", "zulu"}, Element: func(member string, object any) {
		object.(*row).Text = member
	}}
	text := `{"more": [{"text": "a"}, 1], "zulu": 5, "part": {"rows": 1, "x": [{}]}, "rows": [{"text": "a"}, {"text": "b"}], "ratio": 2}`
	if err := d.Decode(strings.NewReader(text), &w); err != nil {
		t.Fatal(err)
	}
	want := whole{Rows: []row{{Text: "rows"}, {Text: "rows"}}, Ratio: 2}
	if !reflect.DeepEqual(w, want) {
		t.Errorf("read %+v, want %+v", w, want)
	}
}
