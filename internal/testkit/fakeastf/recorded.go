package fakeastf

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed testdata/recorded.json
var recorded []byte

// Exchange is a recorded request with its answer.
type Exchange struct {
	Request, Response map[string]any
}

// Method returns the method of the request.
func (x Exchange) Method() string { return fmt.Sprint(x.Request["method"]) }

// Params returns the parameters of the request.
func (x Exchange) Params() map[string]any { return object(x.Request, "params") }

// Recorded returns the recorded exchanges in their order.
func Recorded() []Exchange {
	var all []Exchange
	if err := json.Unmarshal(recorded, &all); err != nil {
		panic(fmt.Sprintf("testdata/recorded.json: %v", err))
	}
	return all
}

// result returns the result of the n-th recorded exchange of a method, as a copy of its own.
func result(method string, n int) any {
	for _, x := range Recorded() {
		if x.Method() != method {
			continue
		}
		if n == 0 {
			return x.Response["result"]
		}
		n--
	}
	panic("testdata/recorded.json has no such exchange of " + method)
}

// object reads a parameter that is an object.
func object(p map[string]any, key string) map[string]any {
	o, _ := p[key].(map[string]any)
	return o
}

// number reads a parameter that is a number.
func number(p map[string]any, key string) float64 {
	n, _ := p[key].(float64)
	return n
}
