package compare

import (
	"cmp"
	"slices"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// rank assigns every cell of status Ranked its rank. Cells that tie with the best of a rank
// share it.
func rank(cells []Cell, metric Metric, tie func(a, b int) bool) {
	var order []int
	for i := range cells {
		if cells[i].Status == Ranked {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if metric.MoreIsBetter() {
			a, b = b, a
		}
		return cmp.Compare(*cells[a].Value, *cells[b].Value)
	})
	best := 0
	for i, at := range order {
		if i > best && !tie(order[best], at) {
			best = i
		}
		cells[at].Rank = int32(best + 1)
		if i > best {
			cells[at].Tied, cells[order[best]].Tied = true, true
		}
	}
}

func rankedCells(cells []Cell) int {
	n := 0
	for _, c := range cells {
		if c.Status == Ranked {
			n++
		}
	}
	return n
}

// score sums the ranks of the lines of one test and metric. A result without a
// rank in any line is not applicable; of the lines only those count in which all
// others have a rank, so that no result gains by a missing row.
func (c *Comparison) score(id v1alpha1.RowID, metric Metric, lines []Line) Score {
	s := Score{Test: id.Test, Variant: id.Variant, Metric: metric, LinesTotal: int32(len(lines)), Places: make([]Place, len(c.Results))}
	takesPart := make([]bool, len(c.Results))
	for _, line := range lines {
		for i, cell := range line.Cells {
			takesPart[i] = takesPart[i] || cell.Rank > 0
		}
	}
	for _, line := range lines {
		counts := true
		for i, cell := range line.Cells {
			counts = counts && (cell.Rank > 0 || !takesPart[i])
		}
		if !counts || rankedCells(line.Cells) == 0 {
			continue
		}
		s.LinesCounted++
		for i, cell := range line.Cells {
			s.Places[i].RankSum += cell.Rank
			if cell.Rank == 1 {
				s.Places[i].Firsts++
			}
		}
	}
	if s.LinesCounted == 0 {
		return s
	}
	ranked := 0
	for i := range s.Places {
		if !takesPart[i] {
			continue
		}
		ranked++
		s.Places[i].Rank = 1
		for j := range s.Places {
			switch {
			case i == j || !takesPart[j]:
			case s.Places[j].RankSum < s.Places[i].RankSum:
				s.Places[i].Rank++
			case s.Places[j].RankSum == s.Places[i].RankSum:
				s.Places[i].Tied = true
			}
		}
	}
	for i, place := range s.Places {
		if ranked > 1 && place.Rank == 1 {
			s.Winners = append(s.Winners, c.Results[i].Name)
		}
	}
	return s
}
