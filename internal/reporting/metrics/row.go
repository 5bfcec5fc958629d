package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/canonical"
)

// Finished takes a row that was finished earlier, before points of later rows are made.
func (r *Run) Finished(row v1alpha1.ResultRow) {
	if i, planned := r.order[row.RowID]; planned {
		r.took[i] = time.Duration(row.ElapsedMilliseconds) * time.Millisecond
	}
}

// Rows are the points of all rows of a result, in any order. They equal those of Row for one
// row after the other.
func (r *Run) Rows(rows []v1alpha1.ResultRow) ([]Point, error) {
	for _, row := range rows {
		r.Finished(row)
	}
	points := make([]Point, len(rows))
	for i, row := range rows {
		var err error
		if points[i], err = r.Row(row); err != nil {
			return nil, err
		}
	}
	return points, nil
}

// at is the time of the row at a place of the plan.
func (r *Run) at(place int) time.Time {
	at := r.began.Add(time.Duration(place))
	for _, took := range r.took[:place+1] {
		at = at.Add(took)
	}
	return at
}

// Row is the point of a row. Its fields are the members of the row, each by its path in JSON
// with "_" between the parts: frames.lossPPM is frames_lossPPM. Lists are left out, except
// lists of texts, which are joined. The digest identifies the row in the archive.
//
// A row contains its duration, and not its time. The time of the point is computed from the
// durations of all rows up to this one, so that every computation returns the same time. One
// nanosecond for each place in the plan distinguishes rows that took no time.
func (r *Run) Row(row v1alpha1.ResultRow) (Point, error) {
	place, planned := r.order[row.RowID]
	if !planned {
		return Point{}, fmt.Errorf("the plan has no row %s", row.Name())
	}
	r.Finished(row)
	at := r.at(place)
	text, err := canonical.JSON(row)
	if err != nil {
		return Point{}, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		return Point{}, fmt.Errorf("decoding row %s: %w", row.Name(), err)
	}
	for _, tagged := range []string{"test", "method", "frameSize", "frameMix", "validity"} {
		delete(members, tagged)
	}
	fields := append(r.of(""), Field{"inputs", r.inputs}, Field{"digest", canonical.Sum(text)})
	if r.software != "" {
		fields = append(fields, Field{tagSoftware, r.software})
	}
	if fields, err = flatten(fields, "", members); err != nil {
		return Point{}, fmt.Errorf("row %s: %w", row.Name(), err)
	}
	return newPoint(MeasurementRow, at, r.rowTags(row), fields), nil
}

func (r *Run) rowTags(row v1alpha1.ResultRow) []Tag {
	return []Tag{
		{tagBed, r.bed}, {tagDevice, r.device}, {tagFrameSize, sizeOf(row.RowID)}, {tagMethod, string(row.Method)},
		{tagTeam, r.team}, {tagTest, row.Test}, {tagValidity, string(row.Validity)},
	}
}

// flatten appends the leaves of decoded JSON as fields.
func flatten(fields []Field, path string, members map[string]any) ([]Field, error) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		key := strings.TrimPrefix(path+"_"+name, "_")
		switch v := members[name].(type) {
		case map[string]any:
			var err error
			if fields, err = flatten(fields, key, v); err != nil {
				return nil, err
			}
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			fields = append(fields, Field{key, n})
		case bool, string:
			fields = append(fields, Field{key, v})
		case []any:
			if joined, are := texts(v); are {
				fields = append(fields, Field{key, joined})
			}
		}
	}
	return fields, nil
}

// texts joins a list of texts; it reports false for any other list.
func texts(list []any) (string, bool) {
	all := make([]string, 0, len(list))
	for _, v := range list {
		text, is := v.(string)
		if !is {
			return "", false
		}
		all = append(all, text)
	}
	return strings.Join(all, "; "), true
}
