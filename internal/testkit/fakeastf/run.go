package fakeastf

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// program contains the commands of an end of a connection, as a profile describes them.
type program struct {
	Commands []struct {
		Name   string  `json:"name"`
		Buffer int     `json:"buf_index"`
		Bytes  float64 `json:"min_bytes"`
		Delay  float64 `json:"usec"`
		Value  float64 `json:"val"`
		Offset int     `json:"offset"`
	} `json:"commands"`
}

// sums contains the bytes that a program sends and awaits in total, and the seconds for which it holds the connection.
type sums struct {
	sent, awaited, held float64
}

// sum returns the sums of a program.
func (p program) sum(buffers []int) (t sums, err error) {
	times := 1.0
	for i, c := range p.Commands {
		switch c.Name {
		case "tx":
			repeated := i+1 < len(p.Commands) && p.Commands[i+1].Name == "jmp_nz"
			n := 1.0
			if repeated {
				n = times
			}
			if c.Buffer < 0 || c.Buffer >= len(buffers) {
				return t, fmt.Errorf("buffer %d of %d", c.Buffer, len(buffers))
			}
			t.sent += n * float64(buffers[c.Buffer])
		case "rx":
			t.awaited = c.Bytes
		case "delay":
			t.held += c.Delay / 1e6
		case "set_var":
			times = c.Value
		case "jmp_nz":
			if c.Offset != -1 {
				return t, fmt.Errorf("a jump by %d commands: the fake knows -1", c.Offset)
			}
		default:
			return t, fmt.Errorf("the fake knows no command %q", c.Name)
		}
	}
	return t, nil
}

// run is a profile that runs or ran.
type run struct {
	limit, perSecond  float64
	client, server    sums
	keepInit          float64
	behavior          Behavior
	duration, ended   float64
	stopped, complete bool
}

// newRun reads a profile.
func newRun(text string, mult, duration float64, b Behavior) (*run, error) {
	var p struct {
		Buffers  []string  `json:"buf_list"`
		Programs []program `json:"program_list"`
		Pools    []struct {
			Dir   string `json:"dir"`
			First string `json:"ip_start"`
			Last  string `json:"ip_end"`
		} `json:"ip_gen_dist_list"`
		Templates []struct {
			Client struct {
				PerSecond float64 `json:"cps"`
				Limit     float64 `json:"limit"`
				Program   int     `json:"program_index"`
			} `json:"client_template"`
			Server struct {
				Program int `json:"program_index"`
			} `json:"server_template"`
		} `json:"templates"`
		Options struct {
			TCP struct {
				KeepInit float64 `json:"keepinit"`
				MSS      float64 `json:"mss"`
			} `json:"tcp"`
		} `json:"c_glob_info"`
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	if len(p.Templates) != 1 || len(p.Programs) != 2 || len(p.Pools) != 2 || p.Pools[0].Dir != "c" || p.Pools[1].Dir != "s" {
		return nil, fmt.Errorf("the fake knows profiles with one template, two programs and two pools, and not %+v", p)
	}
	var buffers []int
	for _, b := range p.Buffers {
		data, err := base64.StdEncoding.DecodeString(b)
		if err != nil {
			return nil, fmt.Errorf("reading a buffer: %w", err)
		}
		buffers = append(buffers, len(data))
	}
	one := p.Templates[0]
	r := &run{limit: one.Client.Limit, perSecond: one.Client.PerSecond * mult, keepInit: p.Options.TCP.KeepInit, duration: duration, behavior: b}
	var err error
	if r.client, err = p.Programs[one.Client.Program].sum(buffers); err != nil {
		return nil, err
	}
	if r.server, err = p.Programs[one.Server.Program].sum(buffers); err != nil {
		return nil, err
	}
	if own := b.OwnConnections; own > 0 {
		r.perSecond = min(r.perSecond, own)
	}
	// Ends that await more than the other one sends wait forever.
	r.complete = r.client.awaited == r.server.sent && r.server.awaited == r.client.sent
	return r, nil
}

// since returns the time in seconds for which a run has run.
func (r *run) since(begin, now time.Time) float64 {
	if r.stopped {
		return r.ended
	}
	return now.Sub(begin).Seconds()
}

// counters are the values of one end by name.
type counters map[string]float64

// at returns the counters of both ends after so many seconds.
func (r *run) at(t float64) (client, server counters) {
	if r.client.held == 0 {
		return r.bulk(t)
	}
	share := 1.0
	if most := r.behavior.DeviceConnections; most > 0 && most < r.perSecond {
		share = most / r.perSecond
	}
	opened := func(t float64) float64 {
		if t < 0 {
			return 0
		}
		return min(r.limit, math.Floor(t*r.perSecond)+1)
	}
	passed := func(t float64) float64 { return math.Floor(opened(t) * share) }
	failed := func(t float64) float64 { return opened(t) - passed(t) }
	held := passed(t - r.client.held)
	if !r.complete {
		held = 0
	}
	dropped := failed(t - r.keepInit)
	client = counters{
		"tcps_connattempt": opened(t), "tcps_connects": passed(t), "tcps_closed": held + dropped, "tcps_conndrops": dropped, "tcps_keepdrops": dropped,
		"tcps_rexmttimeo_syn": failed(t - 1), "tcps_sndbyte": (passed(t) + held) * r.client.sent / 2, "tcps_rcvbyte": (passed(t) + held) * r.server.sent / 2,
		"m_traffic_duration": t,
	}
	server = counters{
		"tcps_accepts": passed(t), "tcps_connects": passed(t), "tcps_closed": held, "tcps_sndbyte": client["tcps_rcvbyte"], "tcps_rcvbyte": client["tcps_sndbyte"],
		"err_s_nf_throttled": float64(r.behavior.Throttled), "m_traffic_duration": t,
	}
	return client, server
}

// bulk returns the counters of data that one end sends to the other.
func (r *run) bulk(t float64) (client, server counters) {
	rate := r.behavior.BitsPerSecond / 8
	if rate == 0 {
		rate = 100e6 / 8
	}
	total := r.client.sent + r.server.sent
	moved := math.Floor(min(total, t*rate))
	lost := 0.0
	if r.behavior.Broken && moved >= total/2 {
		moved, lost = math.Floor(total/2), 1
	}
	closed, lasted := 0.0, t
	if lost > 0 || moved == total && r.complete {
		closed, lasted = 1, moved/rate
	}
	from := counters{"tcps_sndbyte": min(total, moved+4<<20), "tcps_rcvackbyte": moved, "tcps_sndrexmitpack": 0, "tcps_drops": lost}
	if closed > 0 && lost == 0 {
		from["tcps_sndbyte"] = moved
	}
	to := counters{"tcps_rcvbyte": moved}
	client, server = from, to
	if r.server.sent > 0 {
		client, server = to, from
	}
	for _, c := range []counters{client, server} {
		c["tcps_connects"], c["tcps_closed"], c["m_traffic_duration"] = 1, closed, lasted
	}
	client["tcps_connattempt"], server["tcps_accepts"] = 1, 1
	return client, server
}

func (s *Server) counterDesc(map[string]any) (any, *rpcError) {
	desc := result("get_counter_desc", 0).(map[string]any)
	desc["data"] = slices.DeleteFunc(desc["data"].([]any), func(c any) bool {
		return slices.Contains(s.behavior.Missing, fmt.Sprint(c.(map[string]any)["name"]))
	})
	return desc, nil
}

// counterValues returns the counters of a profile. It leaves out zeros, except for counters that are always there.
func (s *Server) counterValues(p map[string]any) (any, *rpcError) {
	one := s.at(p)
	var client, server counters
	if one.run != nil && (one.state == stateRun || one.run.stopped) {
		client, server = one.run.at(one.run.since(one.begin, time.Now()))
	}
	desc, _ := s.counterDesc(nil)
	values := map[string]any{"epoch": 0, "name": "counter vals"}
	for end, found := range map[string]counters{"client": client, "server": server} {
		out := map[string]any{}
		for _, c := range desc.(map[string]any)["data"].([]any) {
			d := c.(map[string]any)
			if n := found[fmt.Sprint(d["name"])]; n != 0 || d["zero"] == true {
				out[strconv.Itoa(int(number(d, "id")))] = n
			}
		}
		values[end] = out
	}
	return values, nil
}

func (s *Server) globalStats(map[string]any) (any, *rpcError) {
	stats := result("get_global_stats", 0).(map[string]any)
	if slices.Contains(s.states(), stateRun) {
		stats["m_cpu_util"] = s.behavior.CPU
	}
	return stats, nil
}
