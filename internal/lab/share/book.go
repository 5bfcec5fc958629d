package share

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Account is one team in one pool of beds.
type Account struct {
	Team, Pool string
}

// Load is the use of a pool by a team at a moment.
type Load struct {
	// Running is the number of beds that the team has.
	Running int
	// Wants is the number of beds that it could use, with those that it has.
	Wants int
}

// State is the use of the pools by all teams at a moment.
type State struct {
	// Loads by team and pool.
	Loads map[Account]Load
	// Beds is the number of beds of each pool that take benchmarks.
	Beds map[string]int
	// Weights of teams; 1 for a team that is not there.
	Weights map[string]float64
}

// Weight of a team.
func (s *State) Weight(team string) float64 {
	if w := s.Weights[team]; w > 0 {
		return w
	}
	return 1
}

// Due returns the number of beds that each team is due, from weighted max-min fairness in each
// pool.
func (s *State) Due() map[Account]float64 {
	pools := map[string][]Account{}
	for a := range s.Loads {
		pools[a.Pool] = append(pools[a.Pool], a)
	}
	due := make(map[Account]float64, len(s.Loads))
	for pool, accounts := range pools {
		slices.SortFunc(accounts, func(x, y Account) int { return cmp.Compare(x.Team, y.Team) })
		claims := make([]Claim, len(accounts))
		running := 0
		for i, a := range accounts {
			l := s.Loads[a]
			claims[i] = Claim{Weight: s.Weight(a.Team), Wants: float64(max(l.Wants, l.Running))}
			running += l.Running
		}
		// A bed that was closed while a benchmark has it is still used.
		for i, d := range Divide(float64(max(s.Beds[pool], running)), claims) {
			due[accounts[i]] = d
		}
	}
	return due
}

// Use is the bed time that a team was due and has had in a pool over the window.
type Use struct {
	Due, Had time.Duration
}

// Behind returns the bed time that the team was due, less the bed time that it has had;
// negative if it has had more.
func (u Use) Behind() time.Duration { return u.Due - u.Had }

// account contains the windows of an account, up to a time.
type account struct {
	due, had window
	since    time.Time
}

// Book adds up what teams are due and have had over a sliding window. It is not safe for
// concurrent use.
type Book struct {
	length   time.Duration
	accounts map[Account]*account
	// since is the time up to which the book adds up. State and due have held since the state was taken. Each
	// account is brought up to date when it is read, and all of them when the state changes.
	since time.Time
	state State
	due   map[Account]float64
	// behind reports whether accounts may have to be brought up to date.
	behind bool
}

// NewBook returns a book over a window of this length.
func NewBook(length time.Duration) *Book {
	return &Book{length: length, accounts: map[Account]*account{}}
}

// Clone returns a book with the same content.
func (b *Book) Clone() *Book {
	c := *b
	c.accounts = make(map[Account]*account, len(b.accounts))
	for a, kept := range b.accounts {
		c.accounts[a] = &account{due: kept.due.clone(), had: kept.had.clone(), since: kept.since}
	}
	return &c
}

// Window is the length of the window.
func (b *Book) Window() time.Duration { return b.length }

// Advance adds up the time until now, and takes the state that holds from now on.
func (b *Book) Advance(now time.Time, s State) {
	b.AddUp(now)
	b.addUpAll()
	b.state, b.due = s, s.Due()
	for a := range s.Loads {
		b.open(a)
	}
}

// Carry takes over what another book has for an account, spread evenly over the window.
func (b *Book) Carry(a Account, u Use, now time.Time) {
	b.addUp(a)
	kept := b.open(a)
	kept.due.add(now.Add(-b.length), now, float64(u.Due)/float64(b.length))
	kept.had.add(now.Add(-b.length), now, float64(u.Had)/float64(b.length))
}

// open returns an account, and opens it if it does not exist.
func (b *Book) open(a Account) *account {
	kept := b.accounts[a]
	if kept == nil {
		kept = &account{due: newWindow(b.length), had: newWindow(b.length), since: b.since}
		b.accounts[a] = kept
	}
	return kept
}

// AddUp adds up the time until now, in which the last state held. A time before the last
// one changes nothing.
func (b *Book) AddUp(now time.Time) {
	if now.After(b.since) {
		b.since, b.behind = now, true
	}
}

// addUp brings one account up to date.
func (b *Book) addUp(a Account) *account {
	kept := b.accounts[a]
	if kept == nil || !b.since.After(kept.since) {
		return kept
	}
	if l, used := b.state.Loads[a]; used {
		kept.due.add(kept.since, b.since, b.due[a])
		kept.had.add(kept.since, b.since, float64(l.Running))
	}
	kept.due.slide(b.since)
	kept.had.slide(b.since)
	kept.since = b.since
	return kept
}

// addUpAll brings all accounts up to date, and removes those without any use.
func (b *Book) addUpAll() {
	if !b.behind {
		return
	}
	b.behind = false
	for a := range b.accounts {
		kept := b.addUp(a)
		if _, used := b.state.Loads[a]; !used && kept.due.sum == 0 && kept.had.sum == 0 {
			delete(b.accounts, a)
		}
	}
}

// Use returns the bed time that a team was due and has had in a pool.
func (b *Book) Use(a Account) Use {
	kept := b.addUp(a)
	if kept == nil {
		return Use{}
	}
	return Use{Due: kept.due.sum, Had: kept.had.sum}
}

// Accounts returns the accounts with any use, and the accounts of the last state, in order.
func (b *Book) Accounts() []Account {
	b.addUpAll()
	all := maps.Clone(b.state.Loads)
	if all == nil {
		all = map[Account]Load{}
	}
	for a := range b.accounts {
		all[a] = b.state.Loads[a]
	}
	return slices.SortedFunc(maps.Keys(all), func(x, y Account) int {
		return cmp.Or(cmp.Compare(x.Team, y.Team), cmp.Compare(x.Pool, y.Pool))
	})
}

// Horizon is the time for which a decision looks ahead: what a benchmark that has a bed will
// still use counts up to this time, so that beds that become free together are divided at
// once.
const Horizon = 30 * time.Minute
