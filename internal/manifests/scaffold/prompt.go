package scaffold

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Prompt asks a person, line by line.
type Prompt struct {
	in  *bufio.Reader
	out io.Writer
}

// NewPrompt returns a prompt that asks on out and reads answers from in.
func NewPrompt(in io.Reader, out io.Writer) *Prompt { return &Prompt{bufio.NewReader(in), out} }

func (p *Prompt) say(text string) { fmt.Fprintln(p.out, text) }

// ask returns the answer, or what is preset for an empty one.
func (p *Prompt) ask(question, preset string) (string, error) {
	for {
		if preset != "" {
			fmt.Fprintf(p.out, "%s [%s] ", question, preset)
		} else {
			fmt.Fprintf(p.out, "%s ", question)
		}
		line, err := p.in.ReadString('\n')
		switch answer := strings.TrimSpace(line); {
		case answer != "":
			return answer, nil
		case errors.Is(err, io.EOF):
			return "", errors.New("the answers ended before the questions: nothing was written")
		case err != nil:
			return "", fmt.Errorf("reading the answer: %w", err)
		case preset != "":
			return preset, nil
		}
	}
}

// choose asks until the answer is one of the choices.
func (p *Prompt) choose(question string, choices []string, preset string) (string, error) {
	for {
		answer, err := p.ask(question+" ("+strings.Join(choices, ", ")+")", preset)
		if err != nil || slices.Contains(choices, answer) {
			return answer, err
		}
		p.say(fmt.Sprintf("%q is none of them", answer))
	}
}
