package text

import (
	"slices"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// IsRemoval reports whether a command removes a line of a configuration.
func (d *Dialect) IsRemoval(command string, have configure.Configuration) bool {
	return d.read(string(have)).has(func(line string) bool { return d.negated(line) == command })
}

// has reports whether a line with a property is in any context of a configuration.
func (t tree) has(property func(line string) bool) bool {
	return slices.ContainsFunc(t, func(n node) bool { return property(n.Line) || n.Children.has(property) })
}

// Commands returns the lines to enter, in the context of the whole configuration, so that a device that
// has one configuration gets another. Everything is removed before anything is added. The order of lines
// within a context is not compared.
func (d *Dialect) Commands(have, want configure.Configuration) []string {
	from, to := d.read(string(have)), d.read(string(want))
	return append(d.removals(from, to), d.additions(from, to)...)
}

// removals are the commands that remove what is not wanted, the last lines first: what refers to others
// comes behind them.
func (d *Dialect) removals(have, want tree) (commands []string) {
	for _, n := range slices.Backward(have) {
		if want.index(n.Line) < 0 && !begins(n.Line, d.Permanent) {
			commands = append(commands, d.negated(n.Line))
			continue
		}
		commands = append(commands, d.within(n.Line, d.removals(n.Children, want.childrenOf(n.Line)))...)
	}
	return commands
}

// additions are the commands that add what is missing.
func (d *Dialect) additions(have, want tree) (commands []string) {
	for _, n := range want {
		inner := d.additions(have.childrenOf(n.Line), n.Children)
		switch {
		case len(inner) > 0:
			commands = append(commands, d.within(n.Line, inner)...)
		case have.index(n.Line) < 0 && !begins(n.Line, d.Permanent): // An interface without settings is none.
			commands = append(commands, n.Line)
		}
	}
	return commands
}

// within enters a context for commands, and leaves it.
func (d *Dialect) within(context string, commands []string) []string {
	if len(commands) == 0 {
		return nil
	}
	return slices.Concat([]string{context}, commands, []string{d.Exit})
}

// Differences describes what a configuration lacks and has beyond another, a line for each: "+ " and "- " with
// the contexts of the line, outermost first.
func (d *Dialect) Differences(from, to configure.Configuration) []string {
	return d.differences(d.read(string(from)), d.read(string(to)), "")
}

func (d *Dialect) differences(from, to tree, context string) (lines []string) {
	for _, n := range from {
		if to.index(n.Line) < 0 && !begins(n.Line, d.Permanent) {
			lines = append(lines, "- "+d.Mask(context+n.Line))
			continue
		}
		lines = append(lines, d.differences(n.Children, to.childrenOf(n.Line), context+n.Line+" > ")...)
	}
	for _, n := range to {
		if from.index(n.Line) < 0 {
			if !begins(n.Line, d.Permanent) {
				lines = append(lines, "+ "+d.Mask(context+n.Line))
			}
			lines = append(lines, d.differences(nil, n.Children, context+n.Line+" > ")...)
		}
	}
	return lines
}
