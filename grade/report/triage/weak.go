package triage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sixlink/sixlink/grade/predicate"
)

// weak adds the spots that no check looked at: tools of the recordings that the rules find
// fault with. What a spot of a case tells already is not told again.
func (out *Report) weak(l *looker) {
	told := map[string]bool{}
	for _, s := range out.Spots {
		for _, c := range s.Causes {
			told[c.key] = true
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(l.stats), func(a, b toolKey) int {
		return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.name, b.name))
	}) {
		st := l.stats[k]
		if st.entry == nil && st.calls == 0 {
			continue
		}
		discovery := &Spot{Server: oneLine(k.server), Tool: oneLine(k.name), Link: predicate.Discovery, What: "listed", Of: 1, Trials: 1}
		response := &Spot{Server: oneLine(k.server), Tool: oneLine(k.name), Link: predicate.Response, What: "called", Of: st.calls, Trials: st.calls}
		if t := st.entry; t != nil {
			if f := undescribed(t); f != nil {
				discovery.add(f)
			}
			if t.deprecated {
				discovery.add(find("deprecated-tool").faint(st.calls == 0).of(t).says(fmt.Sprintf("%s is listed (%s to it), and its description says that it is deprecated: %s", name(t.name), plural(st.calls, "call"), predicate.Quoted(t.desc))))
			}
		}
		for _, f := range st.faults() {
			response.add(f)
		}
		if len(st.nameless) > 0 {
			t := st.entry
			if t == nil {
				t = &toolSeen{server: st.server, name: st.name}
			}
			response.add(find("error-names-no-input").of(t).at(st.namelessAt).says(st.nameless[:min(len(st.nameless), maxPerTool)]...))
		}
		out.addWeak(discovery, told)
		out.addWeak(response, told)
	}
	for _, s := range twins(l) {
		out.addWeak(s, told)
	}
}

func (out *Report) addWeak(s *Spot, told map[string]bool) {
	s.Causes = slices.DeleteFunc(s.Causes, func(c *Likely) bool { return told[c.key] })
	if len(s.Causes) == 0 {
		return
	}
	if len(out.Spots) >= maxSpots {
		out.MoreSpots++
		return
	}
	finish(s)
	s.Text = s.Causes[0].Evidence[0]
	out.Spots = append(out.Spots, s)
}

// twins are the tools of one list whose descriptions read alike, whatever was called.
func twins(l *looker) []*Spot {
	var out []*Spot
	seen := map[string]bool{}
	var lists []*shelf
	for _, k := range slices.SortedFunc(maps.Keys(l.sessions), func(a, b sessionKey) int {
		return cmp.Or(cmp.Compare(a.recording, b.recording), cmp.Compare(a.session, b.session))
	}) {
		if list := l.sessions[k].list; list != nil && !slices.Contains(lists, list) {
			if lists = append(lists, list); len(lists) == maxSpots {
				break
			}
		}
	}
	for _, list := range lists {
		tools := list.tools[:min(len(list.tools), maxCompared)]
		sets := make([]map[string]bool, len(tools))
		for i, t := range tools {
			sets[i] = WordSet(t.desc)
		}
		for i := range tools {
			for k := i + 1; k < len(tools); k++ {
				a, b := tools[i], tools[k]
				is, how := alikeSets(sets[i], sets[k], alikeAlone)
				key := a.server + "\x00" + a.name + "\x00" + b.name
				if !is || seen[key] || len(out) == maxSpots {
					continue
				}
				seen[key] = true
				s := &Spot{Server: oneLine(a.server), Tool: oneLine(a.name), Link: predicate.Discovery, What: "listed", Of: 1, Trials: 1}
				s.add(find("similar-tools").faint(true).of(a, b).says("the descriptions of " + name(a.name) + " and " + name(b.name) + " " + how))
				out = append(out, s)
			}
		}
	}
	return out
}
