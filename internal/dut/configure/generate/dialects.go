package generate

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// Dialect is a kind of device whose words are known.
type Dialect string

// The dialects.
const (
	// DialectNFTables is Linux: a whole rule set.
	DialectNFTables Dialect = "nftables"
	// The others are parts of a configuration, to be added to the base of the device.
	DialectNXOS  Dialect = "nxos"
	DialectEOS   Dialect = "eos"
	DialectJunos Dialect = "junos"
)

// Dialects are all dialects.
var Dialects = []Dialect{DialectNFTables, DialectNXOS, DialectEOS, DialectJunos}

// NamesOf returns the names of the dialects in which a kind of configuration can be written.
func NamesOf(kind string) string {
	return joined(slices.DeleteFunc(slices.Clone(Dialects), func(d Dialect) bool { return templates.Lookup(kind+"."+string(d)) == nil }))
}

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"unique": unique,
	// ten is the number of entry i, in steps of ten.
	"ten": func(i int) int { return 10 * (i + 1) },
	// identifier makes the name of an interface one of nft, whose identifiers have no other characters.
	"identifier": func(s string) string { return strings.NewReplacer("/", "_", ":", "_", ".", "_", "-", "_").Replace(s) },
}).ParseFS(files, "templates/*"))

// write returns a configuration of a kind in the words of a dialect.
func write(kind string, d Dialect, config interface{ Check() error }) (string, error) {
	t := templates.Lookup(kind + "." + string(d))
	if t == nil {
		return "", fmt.Errorf("dialect: Unsupported value: %q: want %s", d, NamesOf(kind))
	}
	if err := config.Check(); err != nil {
		return "", err
	}
	var out strings.Builder
	err := t.Execute(&out, config)
	return out.String(), err
}
