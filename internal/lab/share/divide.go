package share

import (
	"cmp"
	"slices"
)

// Claim is the demand of one team in a pool.
type Claim struct {
	// Weight of the team, above 0.
	Weight float64
	// Wants is the number of beds that the team can use.
	Wants float64
}

// Divide divides the beds of a pool by weighted max-min fairness. No team gets more than
// it wants; what it leaves goes to the others by their weights.
func Divide(beds float64, claims []Claim) []float64 {
	due := make([]float64, len(claims))
	order := make([]int, len(claims))
	weights := 0.0
	for i, c := range claims {
		order[i] = i
		weights += c.Weight
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(claims[a].Wants/claims[a].Weight, claims[b].Wants/claims[b].Weight)
	})
	for _, i := range order {
		c := claims[i]
		due[i] = max(min(c.Wants, beds*c.Weight/weights), 0)
		beds -= due[i]
		weights -= c.Weight
	}
	return due
}
