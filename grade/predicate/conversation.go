package predicate

import "github.com/sixlink/sixlink/record/session"

// needs returns the conversation when a channel of it is complete. Else o is the
// error that every kind gives that reads one: what is missing or partial is no
// ground for a verdict (grading.md 0.2.6). Complete and empty is one.
func (ev *Evidence) needs(c Channel) (talk *Conversation, o Outcome) {
	if s := ev.State(c); s != session.Complete {
		why := ""
		if ev.Conversation == nil {
			why = ": no host transcript tells"
			if ev.Join != nil && ev.Join.NotJoined != "" {
				why = ": the transcript is not joined: " + ev.Join.NotJoined
			}
		} else if w := ev.Conversation.Why[c]; w != "" {
			why = ": " + w
		}
		return nil, errorOutcome("%s evidence is %s%s", c, s, why)
	}
	return ev.Conversation, o
}

// finalText is the final message, empty where the conversation has none; shown is
// how a row shows it.
func (t *Conversation) finalText() (text, shown string) {
	if !t.HasFinalText {
		return "", "no final message"
	}
	return t.FinalText, excerpt(t.FinalText)
}

// rendersOf yields the observations of a tool's widgets, or all without a name.
func (t *Conversation) rendersOf(name string, named bool) []*Render {
	out := make([]*Render, 0, len(t.Renders))
	for i := range t.Renders {
		if !named || t.Renders[i].Tool == name {
			out = append(out, &t.Renders[i])
		}
	}
	return out
}

// Texts that the docs of several kinds share.
const (
	textNeeded   = " Without the host's transcript, or with a part of it, the outcome is an error."
	renderNeeded = " Without observations on record, or with a part of them, the outcome is an error; with all of them and none in scope the check fails."
	renderNote   = "Observations of widgets come with the conversation or as a JSON side file; the wire does not show them."
)
