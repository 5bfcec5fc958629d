package traffic

import "fmt"

// Grouped writes a number that is at least 0 with a comma between thousands, for
// notes and messages: 595,238,094.
func Grouped[N int | int32 | int64 | uint64](n N) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
