package surface

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nodrop.dev/nodrop/internal/reporting/metrics"
	"nodrop.dev/nodrop/internal/reporting/opmetrics"
)

// Commands returns the facts of a command and of the commands below it. Hidden commands, and commands of the groups in
// leftOut, promise nothing.
func Commands(root *cobra.Command, leftOut ...string) Surface {
	s := Surface{}
	s.command(root, leftOut)
	return s
}

func (s Surface) command(cmd *cobra.Command, leftOut []string) {
	for _, group := range leftOut {
		if cmd.GroupID == group {
			return
		}
	}
	if cmd.Hidden {
		return
	}
	place := "command " + cmd.CommandPath()
	s.fact(place)
	for _, alias := range cmd.Aliases {
		s.fact(place, "alias", alias)
	}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		flag := place + " --" + f.Name
		s.fact(flag, "is", f.Value.Type())
		if f.Shorthand != "" {
			s.fact(flag, "short", "-"+f.Shorthand)
		}
		// A flag without a default has its zero value here; a flag whose default the environment sets is not compared.
		if f.DefValue != "" && !strings.Contains(f.Usage, "$") && !strings.ContainsAny(f.DefValue, "/~") {
			s.fact(flag, "defaults to", f.DefValue)
		}
	})
	for _, below := range cmd.Commands() {
		s.command(below, leftOut)
	}
}

// Series returns the facts of the points that NoDrop writes to a database of time series.
func Series(all []metrics.Measurement) Surface {
	s := Surface{}
	for _, m := range all {
		for _, tag := range m.Tags {
			s.fact("series", m.Name, "tag", tag.Name)
		}
		for _, field := range m.Fields {
			s.fact("series", m.Name, "field", field.Name, "in", field.Unit)
		}
	}
	return s
}

// Metrics returns the facts of the metrics that the pods of the lab export.
func Metrics(all []opmetrics.Definition) Surface {
	s := Surface{}
	for _, d := range all {
		s.fact("metric", d.Name, d.Type, "of the", string(d.Component))
		for _, label := range d.Labels {
			s.fact("metric", d.Name, "label", label)
		}
	}
	return s
}

// ExitCodes returns the facts of the constants in a file of Go.
func ExitCodes(file string) (Surface, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("reading exit codes: %w", err)
	}
	s := Surface{}
	for _, d := range parsed.Decls {
		constants, ok := d.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			one := spec.(*ast.ValueSpec)
			value, ok := one.Values[0].(*ast.BasicLit)
			if !ok {
				return nil, fmt.Errorf("%s: the exit code %s is no number", file, one.Names[0])
			}
			s.fact("exit code", value.Value, "is", one.Names[0].Name)
		}
	}
	return s, nil
}
