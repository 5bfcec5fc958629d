// Package spelling finds the name that was probably meant by a misspelt one.
package spelling

import (
	"slices"
	"strings"
)

// maxLetters bounds the words that are compared, as the time grows with the square of their length.
const maxLetters = 64

// Nearest returns the candidate that was probably meant by a misspelt word, or "" when none is
// near: at most a third of the letters may differ. Words of more than 64 letters have none.
func Nearest(word string, candidates []string) string {
	if len(word) > maxLetters {
		return ""
	}
	best, bestDistance := "", len(word)/3+1
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if strings.EqualFold(word, candidate) {
			return candidate
		}
		if max(len(word)-len(candidate), len(candidate)-len(word)) >= bestDistance {
			continue // So many letters differ at least.
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// editDistance counts the letters to insert, remove, replace or swap with their
// neighbor to turn a into b (optimal string alignment).
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
