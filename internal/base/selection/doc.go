// Package selection checks label selectors of the API within bounds, and parses them once for
// many objects.
package selection
