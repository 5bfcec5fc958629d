package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"image"
	_ "image/jpeg" // a format of logos
	_ "image/png"  // a format of logos
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
)

// Cover contains what a report shows about its reader and its author. It is no part of the result,
// and no other format than HTML has it.
type Cover struct {
	// Title replaces the name of the benchmark as the title of the report.
	Title string
	// Customer is the reader of the report. Without one it is spec.attribution.customer.
	Customer string
	// Logo stands at the head of the report; nil shows none.
	Logo *Logo
	// Links lead to pages about the result, such as the lab page.
	Links []Link
}

// Link is an address with a name.
type Link struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// MaxLogo is the maximum size of a logo in bytes: each report contains it.
const MaxLogo = 512 << 10

// Logo is an image. A report contains it as an image and nothing else, so that a script in an SVG
// does not run.
type Logo struct{ url template.URL }

// ReadLogo reads a logo from a file: PNG, JPEG or SVG with at most MaxLogo bytes.
func ReadLogo(path string) (*Logo, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, MaxLogo+1))
	if err != nil {
		return nil, err
	}
	logo, err := newLogo(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return logo, nil
}

func newLogo(content []byte) (*Logo, error) {
	if len(content) > MaxLogo {
		return nil, fmt.Errorf("the image has more than %d KiB: give a smaller one", MaxLogo>>10)
	}
	kind := http.DetectContentType(content)
	switch {
	case kind == "image/png" || kind == "image/jpeg":
		if _, _, err := image.DecodeConfig(bytes.NewReader(content)); err != nil {
			return nil, fmt.Errorf("the image cannot be decoded: %w", err)
		}
	case !strings.HasPrefix(kind, "text/html") && isSVG(content):
		kind = "image/svg+xml"
	default:
		return nil, errors.New("the file is no PNG, JPEG or SVG image")
	}
	//nolint:gosec // base64 of a known kind
	return &Logo{template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(content))}, nil
}

// isSVG reports whether the first element of an XML document is svg.
func isSVG(content []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(content))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local == "svg"
		}
	}
}

// URL is the image as a data URI.
func (l *Logo) URL() template.URL {
	if l == nil {
		return ""
	}
	return l.url
}

// customer is the reader of the report; empty if it is not known.
func (d *Document) customer() string {
	if who := d.Spec.Attribution; who != nil {
		return cmp.Or(d.Cover.Customer, who.Customer)
	}
	return d.Cover.Customer
}

// IsLink reports whether an address is one of the web.
func IsLink(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// CheckLink returns an error for the value of a flag that is neither empty nor a link.
func CheckLink(flag, url string) error {
	if url != "" && !IsLink(url) {
		return fmt.Errorf("--%s is %q: give an address that begins with https:// or http://", flag, url)
	}
	return nil
}

// LinksOf are links by name, in the order of their names.
func LinksOf(urls map[string]string) []Link {
	var all []Link
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		all = append(all, Link{name, urls[name]})
	}
	return all
}
