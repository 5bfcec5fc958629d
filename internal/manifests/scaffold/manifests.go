// Package scaffold writes the manifests of a first benchmark, from flags or from answers to
// questions.
package scaffold

import (
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/manifests/manifestcheck"
)

//go:embed init.yaml.tmpl
var initTemplate string

// plainName is a name that YAML reads as a string without quotes: n, on and 12 are others.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9-]*[0-9-][a-z0-9-]*$|^[a-z-]{4,}$`)

func plain(name string) string {
	if plainName.MatchString(name) && name != "true" && name != "false" && name != "null" {
		return name
	}
	return strconv.Quote(name)
}

// Manifests returns the texts of the YAML files by their names. It refuses what would not be valid.
func (w *Wanted) Manifests() (map[string]string, error) {
	t, err := template.New("init").Funcs(template.FuncMap{"quote": strconv.Quote, "plain": plain}).Parse(initTemplate)
	if err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	type port struct{ Name, Interface, Speed, Address, Gateway string }
	var ports []port
	for i, name := range w.Interfaces {
		p := port{Name: fmt.Sprintf("p%d", i+1), Interface: name, Speed: w.Speeds[i], Address: w.Addresses[i]}
		if w.routes() {
			p.Gateway = w.Gateways[i]
		}
		ports = append(ports, p)
	}
	ipv6 := strings.Contains(w.Addresses[0], ":")
	files := map[string]string{}
	var all []string
	for _, name := range FileNames {
		var text strings.Builder
		err := t.ExecuteTemplate(&text, name, map[string]any{
			"Name": w.Name, "Vendor": w.Vendor, "Model": w.Model, "Ports": ports, "Node": node(),
			"Virtual": w.virtual(), "Routes": w.routes(), "IPv6": ipv6,
		})
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
		files[name] = text.String()
		all = append(all, text.String())
	}
	if err := holds(strings.NewReader(strings.Join(all, "---\n"))); err != nil {
		return nil, hint.With(fmt.Errorf("these values make no valid manifests, and nothing was written: %w", err), "change the flag or the answer that has this value")
	}
	return files, nil
}

// holds checks manifests like nodrop validate.
func holds(text io.Reader) error {
	set, err := manifest.Load([]string{"-"}, text)
	if err != nil {
		return err
	}
	bundle, err := set.Resolve("")
	if err != nil {
		return err
	}
	return manifestcheck.Fits(bundle, nil)
}

// FileNames are the files that init writes.
var FileNames = [...]string{"testbed.yaml", "trafficprofile.yaml", "benchmark.yaml"}
