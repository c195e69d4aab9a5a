package main

func replayVerb() *verb {
	return &verb{
		name:    "replay",
		summary: "run a recording again: as the host, against a new server",
		subs:    []*verb{replayRunVerb()},
	}
}
