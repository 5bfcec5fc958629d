package labpage

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

var (
	loads   = regexp.MustCompile(`(?i)\b(?:src|href|action|data|poster|srcset)="([^"]*)"`)
	doctype = "<!doctype html>"
)

// checkHTML checks that a page is well-formed, has what a screen reader needs, and leads
// nowhere outside.
func checkHTML(t *testing.T, path, text string) {
	t.Helper()
	if !strings.HasPrefix(text, doctype) {
		t.Errorf("%s has no doctype", path)
	}
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, doctype)))
	d.Entity = xml.HTMLEntity
	ids, headings := map[string]int{}, 0
	seen := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s is not well-formed: %v", path, err)
			return
		}
		e, is := token.(xml.StartElement)
		if !is {
			continue
		}
		seen[e.Name.Local]++
		if e.Name.Local == "h1" {
			headings++
		}
		for _, a := range e.Attr {
			if a.Name.Local == "id" {
				ids[a.Value]++
			}
			if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s has the attribute %s, which its policy forbids", path, a.Name.Local)
			}
		}
	}
	if headings != 1 || seen["main"] != 1 || seen["nav"] == 0 || seen["title"] == 0 || seen["caption"] < seen["table"] {
		t.Errorf("%s has %v", path, seen)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("%s has the id %s %d times", path, id, n)
		}
	}
	for _, m := range loads.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], ":") || strings.HasPrefix(m[1], "//") {
			t.Errorf("%s leads to %s", path, m[1])
		}
	}
	if seen["style"] > 0 || seen["script"] != 1 {
		t.Errorf("%s has %v, which its policy forbids", path, seen)
	}
}
