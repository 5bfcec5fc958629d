package report

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A logo is a data URI of its kind in an image element, whatever the SVG contains.
func TestLogos(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	picture := image.NewGray(image.Rect(0, 0, 2, 2))
	var asPNG, asJPEG bytes.Buffer
	if err := png.Encode(&asPNG, picture); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&asJPEG, picture, nil); err != nil {
		t.Fatal(err)
	}
	svg := `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	for name, tc := range map[string]struct{ content, want, wrong string }{
		"a.png":    {asPNG.String(), `src="data:image/png;base64,`, ""},
		"a.jpg":    {asJPEG.String(), `src="data:image/jpeg;base64,`, ""},
		"a.svg":    {svg, `src="data:image/svg&#43;xml;base64,`, ""},
		"half.png": {asPNG.String()[:20], "", "cannot be decoded"},
		"a.html":   {"<!doctype html><svg></svg>", "", "no PNG, JPEG or SVG"},
		"a.gif":    {"GIF89a", "", "no PNG, JPEG or SVG"},
		"big.svg":  {svg + strings.Repeat(" ", MaxLogo), "", "more than 512 KiB"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tc.content), 0o644); err != nil {
			t.Fatal(err)
		}
		logo, err := ReadLogo(path)
		if tc.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("%s: %v, want %q", name, err, tc.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d := router()
		d.Cover = Cover{Title: "Acceptance <test>", Customer: "Example Networks", Logo: logo, Links: []Link{{"Lab page", "https://lab.example.com/"}, {"Bad", "javascript:alert(1)"}}}
		page := pageOf(t, d)
		for _, want := range []string{tc.want, "<h1>Acceptance &lt;test&gt;</h1>", "For Example Networks", `<a href="https://lab.example.com/">Lab page</a>`, "img-src data:"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page lacks %q", name, want)
			}
		}
		if strings.Contains(page, "alert(1)") {
			t.Errorf("%s: the page contains a script", name)
		}
	}
}

// Long lists of ports are folded, and other lists are not.
func TestPortsAreFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no frame was received by p1, p2, p3, p4, p5": "no frame was received by p1 to p5",
		"p9, p10, p11, p12, p20 and p21":              "p9 to p12, p20 and p21",
		"p1, p2, p3":                                  "p1, p2, p3",
		"p1, p3, p5, p7":                              "p1, p3, p5, p7",
		"lan-1, lan-2, lan-3, lan-4, wan-5":           "lan-1 to lan-4, wan-5",
		"64 B, 128 B, 256 B, 512 B":                   "64 B, 128 B, 256 B, 512 B",
	} {
		if got := foldPorts(text); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
