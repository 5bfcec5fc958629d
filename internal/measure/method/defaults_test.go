package method

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The defaults of the API stand in its schema, and are filled in before an object comes
// here: no method has one of its own for a field that is empty.
func TestNoDefaultIsStatedTwice(t *testing.T) {
	for _, dir := range []string{".", "../plan", "../search"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files in %s: %v", len(files), dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range ownDefaults(t, file, text) {
				t.Errorf("%s: a default of its own: state it in the API, as +kubebuilder:default", at)
			}
		}
	}
}

func TestOwnDefaultsAreFound(t *testing.T) {
	const text = `package p

import "cmp"

func f(t T) (any, any, any, any) {
	return cmp.Or(t.Load, "10%"), cmp.Or(t.Duration, 3*time.Second), cmp.Or(t.Kind, v1alpha1.Software), cmp.Or(a.first, b.second)
}
`
	if at := ownDefaults(t, "p.go", []byte(text)); len(at) != 3 {
		t.Errorf("found %v, want the first three", at)
	}
}

// ownDefaults are the places of a file where an exported field has a constant in place of
// its zero value.
func ownDefaults(t *testing.T, file string, text []byte) (places []string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Or" {
			return true
		}
		if field, ok := call.Args[0].(*ast.SelectorExpr); ok && field.Sel.IsExported() && isConstant(call.Args[1]) {
			places = append(places, set.Position(n.Pos()).String())
		}
		return true
	})
	return places
}

// isConstant reports whether an expression is written down as a constant: a literal, a product
// with one, or a constant of the API or of time.
func isConstant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.BinaryExpr:
		return e.Op == token.MUL && (isConstant(e.X) || isConstant(e.Y))
	case *ast.SelectorExpr:
		of, ok := e.X.(*ast.Ident)
		return ok && (of.Name == "v1alpha1" || of.Name == "time")
	}
	return false
}
