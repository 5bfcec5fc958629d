// Package beds reports which beds are ready, and cleans up beds whose benchmark is gone.
package beds
