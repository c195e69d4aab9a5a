package triage

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sixlink/sixlink/grade/predicate"
)

// Needs says what a cause is found in.
type Needs string

// The needs. Either: the verdict can tell, and the recordings tell more.
const (
	Verdict    Needs = "verdict"
	Recordings Needs = "recordings"
	Either     Needs = "either"
)

// Cause is one that the rules know. Ids are stable: programs and pages name them.
type Cause struct {
	ID, Title string
	// Text says when it is found, and what speaks for it.
	Text string
	// From is the link where it comes from; empty: the link where it shows.
	From  predicate.Link
	Needs Needs
	// Rank orders the causes of one spot, 0 to 100; Less is the rank where a part of the
	// evidence is missing or faint; 0: there is no such case.
	Rank, Less int
	// Fix is what a coding agent is asked to do.
	Fix string
}

// Causes are all of them, in the order of docs/triage.md, which breaks ties.
func Causes() []Cause { return slices.Clone(causes) }

var causes = []Cause{
	// Connection and discovery.
	{ID: "not-connected", Title: "The server was not reached", From: predicate.Connection, Needs: Verdict, Rank: 90,
		Text: "The connection link failed. The verdict's text says how: the program did not start, ended, or refused the handshake.",
		Fix:  "Find out why the server does not start or refuses the handshake, from its stderr and the text above, and make it start under the command and environment that the host gives it."},
	{ID: "list-failed", Title: "The list of tools was not given", From: predicate.Discovery, Needs: Verdict, Rank: 90,
		Text: "The discovery link failed: tools/list was answered by an error, or by no list.",
		Fix:  "Make tools/list answer with a valid list of tools, every page of it."},
	{ID: "tool-not-listed", Title: "The tool was never listed to the host", From: predicate.Discovery, Needs: Recordings, Rank: 97, Less: 85,
		Text: "A tool that was expected is in no list that the server gave in this session. Less: the list is not whole (the host did not fetch every page, or a page is not on record), so that the tool may be in the rest.",
		Fix:  "List the tool to this host: look for a filter, a permission, a feature flag, a page that the host does not fetch, or another name for the tool."},
	{ID: "unlisted-tool-called", Title: "A name was called that no list has", From: predicate.Discovery, Needs: Either, Rank: 95,
		Text: "The model called a tool that the complete list lacks. With the recordings the listed name that is nearest to it is named.",
		Fix:  "Give the tool the name that models expect, or name the right tool in descriptions and instructions, and remove mentions of the name that does not exist."},
	{ID: "duplicate-name", Title: "Two tools have one name", From: predicate.Discovery, Needs: Verdict, Rank: 80,
		Text: "The check toolNamesUnique failed.",
		Fix:  "Give every tool a name of its own."},
	{ID: "broken-schema", Title: "A tool's input schema is not well formed", From: predicate.Discovery, Needs: Verdict, Rank: 80,
		Text: "The check toolInputSchemasWellFormed failed.",
		Fix:  "Mend the input schema so that it is a valid JSON Schema of type object."},
	{ID: "undeclared-behaviour", Title: "A tool does not say what it does or returns", From: predicate.Discovery, Needs: Verdict, Rank: 60,
		Text: "A check on annotations (toolAnnotationsPresent) or on output schemas (toolOutputSchemasPresent) failed.",
		Fix:  "Declare the annotations (readOnlyHint, destructiveHint) and the output schema of the tools that lack them, truthfully."},

	// Selection.
	{ID: "similar-tools", Title: "Two tools read alike", From: predicate.Discovery, Needs: Either, Rank: 95, Less: 80,
		Text: "One of two tools was called where the other was expected, and their descriptions share at least 60 % of their words; less: only their names are alike (one has all words of the other, they share at least 60 % of their words, or they differ by at most two characters). In a catalog where no call went wrong, descriptions that share at least 80 % are a weak spot.",
		Fix:  "Rewrite the descriptions so that each says what only this tool does, when to use it and when to use the other one instead, by name; if both do the same, remove one of them. Rename where the names are alike."},
	{ID: "deprecated-tool", Title: "A deprecated tool is still listed", From: predicate.Discovery, Needs: Either, Rank: 88, Less: 60,
		Text: "A tool was called that its own description calls deprecated (the rule of noDeprecatedToolCalled). Less: it is listed (noDeprecatedToolExposed), and was not called.",
		Fix:  "Do not list the deprecated tool any more, or list it only to the clients that still need it; let the description of its successor say what it replaces."},
	{ID: "no-description", Title: "A tool is not described", From: predicate.Discovery, Needs: Either, Rank: 85, Less: 70,
		Text: "A tool has no description (also: toolDescriptionsPresent failed); less: it has fewer than 20 characters.",
		Fix:  "Describe the tool: what it does, when to use it and when not, what it returns, in two to four sentences."},
	{ID: "kept-by-host", Title: "The host kept the call to itself", From: predicate.Selection, Needs: Verdict, Rank: 84,
		Text: "The transcript has a call that never reached the wire: the user denied it, or the host refused its arguments.",
		Fix:  "Look at why the host did not send the call: a permission that was denied (annotate tools that only read with readOnlyHint), or arguments that the host's own schema check refused."},
	{ID: "order-not-told", Title: "Nothing tells the order of the calls", From: predicate.Discovery, Needs: Verdict, Rank: 60,
		Text: "The expected tools were called in another order (callsOutOfOrder, toolCalledBefore, firstToolWas).",
		Fix:  "Say in the description of the later tool which tool must be called before it and what it needs from there; let it refuse with that sentence when it is called too early."},
	{ID: "repeated-call", Title: "A call was made again without a change", From: predicate.Response, Needs: Verdict, Rank: 65,
		Text: "The check noRepeatedIdenticalCall failed: what came back did not tell the model that it had its answer.",
		Fix:  "Make the result say clearly that the work is done, or what to change; for polling, say how long to wait."},
	{ID: "nothing-called", Title: "No tool was called at all", From: predicate.Discovery, Needs: Verdict, Rank: 62,
		Text: "A tool was expected and the trial has no call: the model answered without one, or did not see what the tool is for.",
		Fix:  "Let the description begin with what the user asks for, in the user's words, and say that the answer is not known without the tool."},
	{ID: "many-tools", Title: "There are many tools to choose from", From: predicate.Discovery, Needs: Verdict, Rank: 45,
		Text: "The servers of the trial listed more than 40 tools together; models choose worse among many.",
		Fix:  "List fewer tools: merge those that differ by an argument, and leave out what no user of this host needs."},
	{ID: "passed-over", Title: "The description does not lead to the tool", From: predicate.Discovery, Needs: Either, Rank: 40,
		Text: "Another tool was called where this one was expected, and no rule above says why.",
		Fix:  "Let the description of the expected tool name the request that led here, and the description of the tool that was called say what it is not for."},
	{ID: "uncalled-for", Title: "A call that nobody asked for", From: predicate.Discovery, Needs: Verdict, Rank: 38,
		Text: "A call was made that the case does not expect or forbids, and no rule above says why.",
		Fix:  "Let the description say when the tool must not be used, and mark tools that change or delete things with destructiveHint."},

	// Call.
	{ID: "values-not-declared", Title: "The accepted values are not declared", From: predicate.Discovery, Needs: Recordings, Rank: 92,
		Text: "The error text or the description lists values or demands a form (a date, a pattern, a UUID), and the parameter's schema has neither enum, const, pattern nor format.",
		Fix:  "Declare in the input schema what the server accepts: enum for a closed set of values, pattern or format for a form, and give one example in the parameter's description."},
	{ID: "parameter-undescribed", Title: "A parameter is not described, or vaguely", From: predicate.Discovery, Needs: Recordings, Rank: 86, Less: 78,
		Text: "A parameter that got a wrong value has no description; less: its description has fewer than 12 characters, or says no word that its name does not say.",
		Fix:  "Describe the parameter: what it is, where its value comes from (which tool returns it, or how the user calls it), its form, and one example."},
	{ID: "error-names-no-input", Title: "The error does not say which input is wrong", From: predicate.Response, Needs: Either, Rank: 82,
		Text: "The text of an error names neither a parameter of the tool nor a value that was sent (the rule of toolErrorNamesInput).",
		Fix:  "Let the error name the parameter, the value that was sent, and what would be accepted instead."},
	{ID: "refusal-without-remedy", Title: "The server refuses arguments without saying what is right", From: predicate.Response, Needs: Recordings, Rank: 76,
		Text: "Arguments that violate the tool's own schema were answered with an error whose text holds neither an accepted value nor the pattern, nor a word such as must, expected, one of, allowed, required.",
		Fix:  "Answer wrong arguments with isError and a text that says what is right: the accepted values or form, and an example that can be sent as it stands."},
	{ID: "parameter-guessed", Title: "A parameter was sent that the tool does not have", From: predicate.Discovery, Needs: Either, Rank: 80,
		Text: "The arguments hold a key that the schema does not declare. The declared name that is nearest to it is named.",
		Fix:  "Rename the parameter to what models expect or accept both names, and set additionalProperties to false so that hosts can refuse the guess."},
	{ID: "required-left-out", Title: "A required parameter was left out", From: predicate.Discovery, Needs: Either, Rank: 72,
		Text: "The arguments lack a key that the schema requires.",
		Fix:  "Make the parameter optional with a sensible default, or say in its description where its value comes from."},
	{ID: "form-not-told", Title: "The form of a value is in the schema alone", From: predicate.Discovery, Needs: Recordings, Rank: 68,
		Text: "A value violates the schema's enum, pattern or format, and the parameter's description gives no example of one that fits.",
		Fix:  "Give an example of a value that fits in the parameter's description, and say in words what the pattern demands."},
	{ID: "refused-by-protocol", Title: "Wrong arguments are answered with a protocol error", From: predicate.Response, Needs: Either, Rank: 58,
		Text: "The call was refused with the JSON-RPC error -32602, which many hosts do not show to the model, so that it cannot correct itself.",
		Fix:  "Answer wrong arguments with a result that has isError: true and a text that says what is right; keep JSON-RPC errors for unknown tools and malformed requests."},
	{ID: "schema-not-followed", Title: "The model did not keep to the schema", From: predicate.Call, Needs: Either, Rank: 48,
		Text: "The arguments violate the tool's own schema, and no rule above says why.",
		Fix:  "Simplify the schema: fewer and flatter parameters, types that models use (strings, numbers, short enums), and an example in the description."},
	{ID: "value-not-told", Title: "Nothing tells the model the value that is wanted", From: predicate.Discovery, Needs: Either, Rank: 42,
		Text: "The arguments differ from those that the case expects, they fit the schema, and no rule above says why.",
		Fix:  "Say in the parameter's description how its value follows from what the user said, with an example; if the value comes from another tool, name that tool."},
	{ID: "server-fault", Title: "The server failed or did not answer", From: predicate.Call, Needs: Verdict, Rank: 74,
		Text: "A call ended in a protocol error other than -32602, or without an answer: the server ended, or answered later requests and not this one.",
		Fix:  "Find the fault in the server that made it fail or end at this call (stderr in the recording, the records above), and answer what cannot be done with isError and a reason."},

	// Response.
	{ID: "broke-before", Title: "An earlier link broke first", Needs: Verdict, Rank: 90, Less: 66,
		Text: "The same call already failed an earlier link; less: an earlier link of the trial failed, which this may follow from.",
		Fix:  "Mend the earlier link first and record the prompt again."},
	{ID: "slow-tool", Title: "The tool is slow", From: predicate.Response, Needs: Either, Rank: 83, Less: 52,
		Text: "The check toolLatencyUnder failed, or the host gave up on a call. Less: a call took 10 seconds or more, and no check asks.",
		Fix:  "Make the tool answer sooner: less work a call, a cache, a page at a time, progress notifications, or a task that is fetched later."},
	{ID: "result-too-large", Title: "The result is too large", From: predicate.Response, Needs: Either, Rank: 81, Less: 54,
		Text: "The check toolResultSizeUnder failed. Less: a result has 100,000 bytes or more, which hosts cut or refuse, and no check asks.",
		Fix:  "Return less: only the fields that are asked for, a page at a time with a cursor, a summary with a resource link to the whole."},
	{ID: "page-without-continuation", Title: "A full page does not say whether there is more", From: predicate.Response, Needs: Either, Rank: 79, Less: 53,
		Text: "The check fullPageHasContinuation failed. Less: its rule fails on the recordings, and no check asks. The model takes the first page for everything.",
		Fix:  "Return nextCursor or hasMore with every page, also with the last one, and accept the cursor as a parameter."},
	{ID: "result-not-as-declared", Title: "The result is not what its schema says", From: predicate.Response, Needs: Verdict, Rank: 78,
		Text: "The check toolResultMatchesSchema failed.",
		Fix:  "Return what the output schema declares, or change the schema to what is returned."},
	{ID: "empty-result", Title: "The result is empty", From: predicate.Response, Needs: Recordings, Rank: 64, Less: 50,
		Text: "A call was answered without error and without content: no text, or an empty list or object. Less: no check failed by it.",
		Fix:  "Say in words that nothing was found, for which arguments, and what to try instead."},
	{ID: "tool-failed", Title: "The tool answered with an error", From: predicate.Response, Needs: Verdict, Rank: 46,
		Text: "A call was answered with isError, and no rule above says why.",
		Fix:  "Find out why the tool fails for these arguments; if the failure is right, let its text say what the model can do instead."},
	{ID: "result-lacks-text", Title: "The result lacks what the case asks for", From: predicate.Response, Needs: Verdict, Rank: 44,
		Text: "A check on a result's text (toolResultContains, toolResultMatches) failed.",
		Fix:  "Return the data that the case asks for, in words that a model can repeat."},

	// User value.
	{ID: "answer-ignores-result", Title: "The answer is not what the tool returned", From: predicate.UserValue, Needs: Recordings, Rank: 70,
		Text: "The text that the final message should have is in a result of the trial, and not in the final message.",
		Fix:  "Let the result lead with the answer in one plain sentence, before any data, so that the model repeats it."},
	{ID: "result-lacks-answer", Title: "No result holds what the answer needs", From: predicate.Response, Needs: Recordings, Rank: 68,
		Text: "The text that the final message should have is in no result of the trial either.",
		Fix:  "Return what the user asked for, not only ids or a status: the model can only tell what it was told."},
	{ID: "ends-with-question", Title: "The answer asks back", From: predicate.UserValue, Needs: Verdict, Rank: 56,
		Text: "The check noEndingQuestion failed.",
		Fix:  "Let tools work without optional arguments and say what they assumed, so that the model need not ask."},
	{ID: "over-budget", Title: "It took too many tokens or turns", From: predicate.Response, Needs: Verdict, Rank: 55,
		Text: "The check tokenBudgetUnder or turnCountUnder failed.",
		Fix:  "Shorten results and descriptions, and merge tools that are always called one after the other."},
	{ID: "answer-off", Title: "The answer is not what the case asks for", From: predicate.UserValue, Needs: Verdict, Rank: 34,
		Text: "A check on the final message failed, and no rule above says why.",
		Fix:  "Compare the final message with the results in the recording: what of the answer was in them, and how plainly?"},

	// What is left.
	{ID: "not-recorded", Title: "The evidence is not there", Needs: Verdict, Rank: 60,
		Text: "A trial could not be decided. The verdict says which link was not measured and why: often no transcript was joined, or the recording is torn.",
		Fix:  "Record the session whole and attach the host's transcript (sixlink attach, or grade --find-conversation), then grade again."},
	{ID: "no-rule", Title: "No rule explains it", Needs: Verdict, Rank: 10,
		Text: "None of the rules fits. The records are the place to begin.",
		Fix:  "Look at the records named above (sixlink show) and find out what went wrong."},
}

func causeOf(id string) *Cause {
	for i := range causes {
		if causes[i].ID == id {
			return &causes[i]
		}
	}
	panic("triage: no cause " + id) // a rule names one that the table lacks: a test runs them all
}

// place is a cause's place in the table.
func (c *Cause) place() int {
	return slices.IndexFunc(causes, func(k Cause) bool { return k.ID == c.ID })
}

// Page is docs/triage.md.
func Page() []byte {
	var b bytes.Buffer
	b.WriteString(pageHead)
	for _, c := range causes {
		from := "the link where it shows"
		if c.From != "" {
			from = string(c.From)
		}
		if c.ID == "broke-before" {
			from = "the earlier link"
		}
		rank := fmt.Sprint(c.Rank)
		if c.Less > 0 {
			rank += fmt.Sprintf(", less %d", c.Less)
		}
		needs := map[Needs]string{Verdict: "the verdict", Recordings: "the recordings", Either: "the verdict; the recordings tell more"}[c.Needs]
		fmt.Fprintf(&b, "\n### %s\n\n%s. Comes from: %s. Rank: %s. Found in: %s.\n\n%s\n\nWhat to do: %s\n", c.ID, c.Title, from, rank, needs, c.Text, c.Fix)
	}
	return b.Bytes()
}

const pageHead = `# Triage

<!-- Made from the table in grade/report/triage/cause.go: go test ./grade/report/triage -run TestPage -update -->

    sixlink triage VERDICT.json [RECORDING...] [--top 3] [--copy] [--format text|json|markdown]

For each spot of a verdict that failed or is weak it lists the likely causes, the likeliest first, with what speaks for each. The
rules are fixed: the same verdict and recordings give the same list, and nothing is asked of a model or a network. The causes say what to
look at first; what passed and what failed is the verdict's business and is not touched.

- A **spot** is a link that failed in trials of one case for one reason, a check that failed at a link that held, a trial that could not be decided, or, with
  the recordings, a tool that no check looked at and that the rules find fault with (a weak spot).
- A cause **shows** at one link and **comes from** another: a wrong selection comes from what discovery offered.
- The **rank** orders the causes of a spot: from 75 a cause is *likely*, from 50 *possible*, below that a *hint*. Ties go by the order of this page.
- Rules look at the first 3 trials of a spot, at the first 200 spots, and at 2,000 calls of a session.
- With the verdict alone, what needs catalogs, arguments or results is not looked at, and the output says so. Give the recordings, or their folder, to have it looked at.
- ` + "`--copy`" + ` prints the prompts alone, each once: paste one into a coding agent that has the server's source. Texts of recordings are quoted in it, and it says that
  they are data: read a prompt before you use it, as the recordings may be a stranger's.
- The exit code is that of the verdict.

## JSON

` + "`--format json`" + ` has the schema ` + "`" + Schema + "`" + `. ` + "`spots`" + ` is the list; each has ` + "`failing`" + `, ` + "`case`" + ` (empty for a weak spot of a tool, which has ` + "`server`" + ` and ` + "`tool`" + `), ` + "`link`" + `, ` + "`what`" + ` (the
reason, or the check), ` + "`text`" + `, ` + "`trials`" + `, ` + "`of`" + `, ` + "`at`" + ` (recording, session) and ` + "`causes`" + `: ` + "`id`" + `, ` + "`title`" + `, ` + "`likelihood`" + `, ` + "`rank`" + `, ` + "`showsAt`" + `, ` + "`comesFrom`" + `, ` + "`evidence`" + `, ` + "`records`" + `, ` + "`tools`" + ` (server,
name, description, inputSchema as text) and ` + "`prompt`" + `. ` + "`moreCauses`" + ` counts those beyond ` + "`--top`" + `, ` + "`notLookedAt`" + ` says what was not looked at.

## Causes
`
