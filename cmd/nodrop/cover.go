package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// cover are the flags of the head of a report.
type cover struct {
	title, customer, logo string
	links                 map[string]string
}

func (c *cover) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.title, "title", "", "title of the report in HTML or PDF, instead of the name of the benchmark")
	cmd.Flags().StringVar(&c.customer, "customer", "", "reader of the report in HTML or PDF, instead of spec.attribution.customer")
	cmd.Flags().StringVar(&c.logo, "logo", "", fmt.Sprintf("PNG, JPEG or SVG image at the head of the report in HTML or PDF, of at most %d KiB", report.MaxLogo>>10))
	cmd.Flags().StringToStringVar(&c.links, "link", nil, "NAME=URL, a link at the head of the report in HTML or PDF, such as to the lab page or to Grafana; may be repeated")
}

// read returns the cover of a report in a format. It fails if the format shows none, and if the logo
// cannot be read.
func (c *cover) read(format string) (report.Cover, error) {
	shown := report.Cover{Title: c.title, Customer: c.customer, Links: report.LinksOf(c.links)}
	if c.title+c.customer+c.logo == "" && len(c.links) == 0 {
		return shown, nil
	}
	if format != string(report.FormatHTML) && format != string(terminal.FormatPDF) {
		return shown, fmt.Errorf("--title, --customer, --logo and --link are shown by -o html and -o pdf, not by -o %s", format)
	}
	for name, url := range c.links {
		if !report.IsLink(url) {
			return shown, fmt.Errorf("--link %s: %q is no address that begins with https:// or http://", name, url)
		}
	}
	if c.logo == "" {
		return shown, nil
	}
	logo, err := report.ReadLogo(c.logo)
	if err != nil {
		return shown, hint.With(fmt.Errorf("--logo: %w", err), fmt.Sprintf("give a PNG, JPEG or SVG image of at most %d KiB", report.MaxLogo>>10))
	}
	shown.Logo = logo
	return shown, nil
}
