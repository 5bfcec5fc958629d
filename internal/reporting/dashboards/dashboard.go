package dashboards

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Dashboard is one of ours.
type Dashboard struct {
	// Name is part of its UID, and the folder of its queries.
	Name string
	// Title and About are for the reader.
	Title, About string
	Variables    []Variable
	Panels       []Panel
	Marks        []Mark

	// from is the begin of the shown time range, relative to now.
	from string
	// refresh is the refresh interval; empty disables the refresh.
	refresh string
}

// Mark is a query whose rows are shown as annotations.
type Mark struct {
	// Title names it, and Query is the name of its query.
	Title, Query string
	color        string
	// title, text and tags are the columns of an answer in InfluxQL.
	title, text, tags string
}

func (m Mark) builder(dashboard string, l Language) cog.Builder[sdk.AnnotationQuery] {
	t := Target{RefID: "Anno", Datasource: source(), Query: query(dashboard, m.Query, l)}
	if l == InfluxQL {
		t.RawQuery, t.FromAnnotations, t.ResultFormat = true, true, "table"
		t.TitleColumn, t.TextColumn, t.TagsColumn = m.title, m.text, m.tags
	}
	return sdk.NewAnnotationQueryBuilder().Name(m.Title).Datasource(source()).Enable(true).IconColor(m.color).
		Target(cog.Builder[variants.Dataquery](t))
}

// UID identifies the dashboard in Grafana.
func (d Dashboard) UID(l Language) string { return fmt.Sprintf("nodrop-%s-%s", d.Name, l) }

// Build makes the dashboard for data sources of a language.
func (d Dashboard) Build(l Language) (sdk.Dashboard, error) {
	b := sdk.NewDashboardBuilder(d.Title).Uid(d.UID(l)).Description(d.About).Tags([]string{"nodrop", string(l)}).
		Time(d.from, "now").Tooltip(sdk.DashboardCursorSyncCrosshair).Readonly().WithVariable(sources()).WithVariable(page())
	if d.refresh != "" {
		b = b.Refresh(d.refresh)
	}
	for _, v := range d.Variables {
		b = b.WithVariable(v.builder(l))
	}
	for _, m := range d.Marks {
		b = b.Annotation(m.builder(d.Name, l))
	}
	for _, other := range All() {
		link := sdk.NewDashboardLinkBuilder(other.Title).Type(sdk.DashboardLinkTypeLink).Url("/d/" + other.UID(l)).KeepTime(false).IncludeVars(false)
		if other.Name != d.Name {
			b = b.Link(link)
		}
	}
	b = b.Link(sdk.NewDashboardLinkBuilder("Lab page").Type(sdk.DashboardLinkTypeLink).Url("${" + PageVariable + ":raw}/").KeepTime(false).IncludeVars(false))
	for i, p := range d.Panels {
		built, err := p.builder(d.Name, l).Build()
		if err != nil {
			return sdk.Dashboard{}, fmt.Errorf("panel %q of dashboard %s: %w", p.Title, d.Name, err)
		}
		id := uint32(i + 1)
		built.Id = &id
		b = b.WithPanel(finished{built})
	}
	made, err := b.Build()
	if err != nil {
		return sdk.Dashboard{}, fmt.Errorf("dashboard %s: %w", d.Name, err)
	}
	return made, nil
}

// finished is a panel that was built.
type finished struct{ panel sdk.Panel }

func (f finished) Build() (sdk.Panel, error) { return f.panel, nil }

// Files are all dashboards as JSON, by the name of their file.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	var errs []error
	for _, l := range Languages() {
		for _, d := range All() {
			made, err := d.Build(l)
			text, encoding := json.MarshalIndent(made, "", "  ")
			errs = append(errs, err, encoding)
			files[fmt.Sprintf("%s-%s.json", d.Name, l)] = append(text, '\n')
		}
	}
	return files, errors.Join(errs...)
}
