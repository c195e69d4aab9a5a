package main

// replayVerb is a recording that is run again: as the server, or as the host.
func replayVerb() *verb {
	return &verb{
		name:    "replay",
		summary: "run a recording again: as the server, or as the host",
		subs:    replayVerbs(),
	}
}

// replayVerbs are the verbs below replay, one file each.
func replayVerbs() []*verb {
	return []*verb{replayServeVerb(), replayRunVerb()}
}
