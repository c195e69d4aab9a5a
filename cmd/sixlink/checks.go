package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/predicate"
)

func checksVerb() *verb {
	var format string
	v := &verb{
		name:    "checks",
		args:    "[KIND]",
		summary: "list the kinds of checks that a suite can hold, or explain one",
		long: "Kinds are listed by the link that they file at. A kind marked o is an observation, which can only be advisory; " +
			"one marked t may also stand on one turn of a case.",
		examples: [2]string{"sixlink checks", "sixlink checks toolResultMatches"},
		flags: func(fs *pflag.FlagSet) {
			fs.StringVar(&format, "format", "text", "text or json")
		},
	}
	v.run = func(s stdio, args []string) int {
		switch {
		case len(args) > 1:
			return usageError(s, v.name, errors.New("takes one KIND"))
		case format != "text" && format != "json":
			return usageError(s, v.name, fmt.Errorf("--format %q is none of text, json", format))
		}
		docs := predicate.Docs()
		if len(args) == 1 {
			d, ok := predicate.DocOf(args[0])
			if !ok {
				return usageError(s, v.name, errors.New(grade.UnknownKind(args[0])))
			}
			if format == "text" {
				fmt.Fprint(s.out, d.Page())
				return exitGood
			}
			docs = []predicate.Doc{d}
		}
		if format == "json" {
			s.out.Write(grade.ChecksJSON(docs))
			return exitGood
		}
		fmt.Fprint(s.out, "o: an observation, only advisory; t: may stand on a turn\n\n")
		link := predicate.Link("")
		for _, d := range docs {
			if d.Link != link {
				if link != "" {
					fmt.Fprintln(s.out)
				}
				link = d.Link
				fmt.Fprintf(s.out, "%s\n", link)
			}
			mark := [2]byte{' ', ' '}
			if d.Observation {
				mark[0] = 'o'
			}
			if d.Turn {
				mark[1] = 't'
			}
			fmt.Fprintf(s.out, "%s %-29s %s\n", mark[:], d.Info.Name, d.Title)
		}
		return exitGood
	}
	return v
}
