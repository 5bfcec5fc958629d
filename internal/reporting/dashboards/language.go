package dashboards

import (
	"embed"
	"fmt"
	"strings"
)

// Language is the query language of an InfluxDB data source.
type Language string

// The languages. SQL, of InfluxDB 3, is none of them: there is no server to test it with.
const (
	Flux     Language = "flux"
	InfluxQL Language = "influxql"
)

// Languages are all of them.
func Languages() []Language { return []Language{Flux, InfluxQL} }

//go:embed queries
var queries embed.FS

// query is the text of a query, by its folder and name.
func query(folder, name string, l Language) string {
	text, err := queries.ReadFile(fmt.Sprintf("queries/%s/%s.%s", folder, name, l))
	if err != nil {
		panic(err) // A panel without its query: the tests make all of them.
	}
	return strings.TrimSpace(string(text))
}
