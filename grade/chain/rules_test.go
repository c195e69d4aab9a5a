package chain

import (
	"slices"
	"strings"
	"testing"

	"github.com/sixlink/sixlink/grade/predicate"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// rules are all rules of grading.md 4.3 to 4.6, in their order. One that no
// recording and no transcript can meet says by which clause; each other one needs
// a row below.
var rules = []struct{ id, unreachable string }{
	{"4.3 every link applies to a recorded session", ""},
	{"4.3 selection of a model-free case does not apply", `0.1 "Inputs of 4.2": mode is model_driven`},

	{"4.4 connection: setup signal ok", ""},
	{"4.4 connection: a call implies it", ""},
	{"4.4 connection: listed tools imply it", ""},
	{"4.4 connection: failed, theirs and reached", ""},
	{"4.4 connection: failed without proof that it was reached", ""},
	{"4.4 connection: failed, ours", ""},
	{"4.4 connection: trace absent", ""},
	{"4.4 connection: nothing captured", ""},
	{"0.1 connection: a later success wins", ""},
	{"0.1 connection: the first success of the session-less era", ""},
	{"0.1 connection: an unsupported version without a later success", ""},
	{"0.1 connection: the recording begins in the middle", ""},
	{"0.1 connection: authRequired, and answers of a gateway", "sessions over HTTP are not decoded yet"},

	{"4.4 discovery: setup signal ok", ""},
	{"4.4 discovery: a call implies it", ""},
	{"4.4 discovery: failed signal, theirs", ""},
	{"4.4 discovery: failed signal wins over tools of an earlier list", ""},
	{"4.4 discovery: failed signal, ours or unknown", ""},
	{"4.4 discovery: a failing gating catalog check", ""},
	{"4.4 discovery: advisory failures and error rows leave it", ""},
	{"4.4 discovery: trace absent", ""},
	{"4.4 discovery: nothing captured", ""},
	{"0.1 discovery: the host stopped early", ""},
	{"0.1 discovery: a later list succeeds", ""},
	{"0.1 discovery: no tools declared", ""},

	{"0.2.10 selection: unknown tool on the wire", ""},
	{"0.2.10 selection: unknown tool of the host alone", ""},
	{"4.4 selection: open, trace absent", ""},
	{"4.4 selection: open, with calls", ""},
	{"4.4 selection: open, nothing captured", ""},
	{"4.4 selection: missing calls in a turn", ""},
	{"0.2.3 selection: calls out of order", ""},
	{"4.4 selection: a failed check, toolCalledAtLeastOnce among them", ""},
	{"4.4 selection: a failed check of another kind", ""},
	{"4.4 selection: unexpected calls in a failed turn", ""},
	{"4.4 selection: unexpected calls beside an argument mismatch", ""},
	{"4.4 selection: unexpected calls in a turn that passed", ""},
	{"4.4 selection: the verdict of a turn is unknown", ""},
	{"4.4 selection: prompts recorded", ""},
	{"4.4 selection: passing checks alone", ""},
	{"4.4 selection: a gating toolCalledWith is not read again", ""},
	{"4.4 selection: nothing matched", ""},
	{"4.4 selection: executor emits no spans", `0.1 "Inputs of 4.2": spans are calls`},
	{"0.2.7 selection: an undecided mismatch fails nothing", ""},
	{"0.1 selection: a negative case needs prompt, finished turn and complete calls", ""},

	{"4.4 call: a failed check", ""},
	{"4.4 call: argument mismatches", ""},
	{"0.2.10 call: arguments against the tool's own schema, answered with isError", ""},
	{"4.4 call: a protocol error", ""},
	{"4.4 call: calls", ""},
	{"4.4 call: a negative case with prompts", ""},
	{"4.4 call: nothing captured", ""},
	{"0.2.7 call: an undecided mismatch fails nothing", ""},
	{"0.2.7 call: no pass where an error may be lost", ""},

	{"4.4 response: a failed check, noToolErrors", ""},
	{"4.4 response: a failed check of another kind", ""},
	{"4.4 response: an observed tool failure", ""},
	{"4.4 response: render expected, no observation", ""},
	{"4.4 response: render expected, one failed", ""},
	{"4.4 response: render expected, all rendered", ""},
	{"4.4 response: ok calls", ""},
	{"4.4 response: nothing captured", ""},
	{"4.4 response: an error row fails nothing", ""},
	{"0.2.7 response: no pass where an error may be lost", ""},
	{"0.2.10 response: noToolErrors on protocol errors alone", ""},

	{"4.4 userValue: the evaluator erred", ""},
	{"4.4 userValue: a row failed", ""},
	{"4.4 userValue: the rows passed", ""},
	{"4.4 userValue: trace absent", ""},
	{"4.4 userValue: the judge", "7.3: no judge runs on the offline path"},
	{"4.4 userValue: nothing captured", ""},
	{"4.4 advisory rows feed nothing", ""},

	{"4.5.1 policy blocked", ""},
	{"4.5.2 cancelled", ""},
	{"4.5.2 timed out", ""},
	{"4.5.2 skipped", ""},
	{"4.5.2 setup failed", ""},
	{"4.5.2 a link that does not apply stays so", ""},
	{"4.5.3 setup abort, connection failed", ""},
	{"4.5.3 setup abort, listing failed", ""},
	{"4.5.3 setup abort, neither failed", ""},
	{"4.5.3 no setup abort with a turn on record", ""},
	{"4.5.4 all six are derived", ""},
	{"4.5.5 provider error fills blank rows", ""},
	{"4.5.5 provider error withdraws a failure that rests on absence", ""},
	{"4.5.5 provider error leaves what was seen", ""},
	{"4.5.5 before the cascade", ""},
	{"4.5.6 first break is the first failed row", ""},
	{"4.5.6 only unmeasured rows become notReached", ""},
	{"4.5.6 a measured row keeps its verdict", ""},
	{"4.5.6 notApplicable stays", ""},
	{"4.5.7 category of connection and discovery", ""},
	{"4.5.7 category of selection", ""},
	{"4.5.7 category metadata", `0.1 "Inputs of 4.2": no attribution is recorded`},
	{"4.5.7 category of call, arguments", ""},
	{"4.5.7 category of call, server", ""},
	{"4.5.7 category of call, transport-local", `0.1: lives in the adapter (TestTransportLocalCodesLiveInTheAdapter)`},
	{"0.2.10 category of -32602 for wrong arguments", ""},
	{"4.5.7 category of response", ""},
	{"4.5.7 category of userValue", ""},
	{"4.5.7 no failed link, the evaluator erred", ""},
	{"4.5.7 no failed link, provider error", ""},
	{"4.5.7 no failed link", ""},

	{"4.6 runner check passes with its link", ""},
	{"4.6 runner check fails for the runner's own reason", ""},
	{"4.6 runner check is undecided for an evaluator's reason", ""},
	{"4.6 runner check is not shown when the link does not apply", ""},
}

// tester makes an input step by step.
type tester = func(*Input)

func input(s *session.Session, more ...tester) Input {
	in := Input{Session: s, Evidence: evidence(s, `{"q":1}`)}
	for _, m := range more {
		m(&in)
	}
	return in
}

func rowsOf(rows ...Row) tester { return func(in *Input) { in.Rows = append(in.Rows, rows...) } }
func negative(in *Input)        { in.Negative = true }
func talk(in *Input)            { talked(in, true) }
func provider(in *Input)        { in.HostStep = ModelAPIFailed }
func ending(e Ending) tester    { return func(in *Input) { in.Ended = e } }
func prompts(ps ...Prompt) tester {
	return func(in *Input) { in.Prompts = append(in.Prompts, ps...); in.Expects = true }
}

func partial(in *Input) {
	in.Evidence.Capture.ToolCalls, in.Evidence.Capture.ToolErrors = session.Partial, session.Partial
	in.Evidence.Capture.Why = []string{"the recording is torn"}
}

func absent(in *Input) { in.Evidence.Capture = session.Capture{} }

func renders(status ...string) tester {
	return func(in *Input) {
		talked(in, true)
		in.ExpectsRender = true
		for _, s := range status {
			in.Evidence.Conversation.Renders = append(in.Evidence.Conversation.Renders, predicate.Render{Tool: "t", Status: s})
		}
	}
}

var (
	lost     = Mismatch{Tool: "t", Text: `no call to "t"`}
	seen     = Mismatch{Tool: "t", Records: []int64{10}, Text: `"t" in record 10`}
	unknown  = Mismatch{Tool: "t", Text: `"t" may have been lost`, Undecided: true}
	selected = row("toolCalledAtLeastOnce", predicate.Selection, predicate.Gating, predicate.Pass)
	uncalled = row("toolCalledAtLeastOnce", predicate.Selection, predicate.Gating, predicate.Fail)
	called   = row("toolNeverCalled", predicate.Selection, predicate.Gating, predicate.Fail)
	slow     = row("toolLatencyUnder", predicate.Response, predicate.Gating, predicate.Fail)
	erring   = row("noToolErrors", predicate.Response, predicate.Gating, predicate.Error)
	badArgs  = row("argumentsMatchToolSchema", predicate.Call, predicate.Gating, predicate.Fail)
	said     = row("responseContains", predicate.UserValue, predicate.Gating, predicate.Pass)
	unsaid   = row("responseContains", predicate.UserValue, predicate.Gating, predicate.Fail)
	unheard  = row("responseContains", predicate.UserValue, predicate.Gating, predicate.Error)
	blank    = row("toolDescriptionsPresent", predicate.Discovery, predicate.Gating, predicate.Fail)
)

func with(r Row, name string) Row {
	c := *r.Check
	c.Info.Name = name
	r.Check = &c
	return r
}

func advisory(r Row) Row {
	c := *r.Check
	c.Role = predicate.Advisory
	r.Check = &c
	return r
}

// noInitialize is a session without a handshake.
func noInitialize(s *session.Session) { s.Connection.Initialize = nil }

func refused(s *session.Session) { s.Connection.Initialize.State = session.ExchangeError }

func noTools(s *session.Session) {
	l, no := list(catalog.Failed), false
	l.ErrorCode = codeMethodNotFound
	s.Lists, s.ToolsCapability = []*catalog.List{l}, &no
}

var unstarted = &session.Session{Connection: session.Connection{Spawn: &session.SpawnError{Seq: 1, Error: "not found", Code: 127}}}

func silentLauncher() *session.Session {
	return sess(ended, func(s *session.Session) {
		s.Connection.Initialize.State, s.Connection.Initialize.AnswerSeq = session.ExchangeUnanswered, 0
		s.Connection.ReachedSeq, s.Connection.Launcher = 0, true
	})
}

// The wants are link=state/reason, break=link, category=word and run:id=state, in
// any number.
func TestRules(t *testing.T) {
	ok := lists(list(catalog.Complete, "t"))
	result := call("t", session.CallResult)
	toolError := call("t", session.CallToolError)
	protocol := call("t", session.CallProtocolError)
	good := sess(ok, result)
	passedTurn := Prompt{Expected: 1, Passed: true}
	missing := Prompt{Expected: 1, Missing: []Mismatch{lost}}
	const none = "break= category="
	rows := []struct {
		rule string
		in   Input
		want string
	}{
		{"4.3 every link applies to a recorded session", input(sess()),
			"connection=passed/observed discovery=notMeasured/noEvidenceCaptured selection=notMeasured/noEvidenceCaptured call=notMeasured/noEvidenceCaptured response=notMeasured/noEvidenceCaptured userValue=notMeasured/noEvidenceCaptured"},

		{"4.4 connection: setup signal ok", input(sess()), "connection=passed/observed " + none},
		{"4.4 connection: a call implies it", input(sess(noInitialize, protocol)), "connection=passed/impliedByLaterEvidence"},
		{"4.4 connection: listed tools imply it", input(sess(noInitialize, ok, func(s *session.Session) { s.Connection.BeganMidway, s.Connection.FirstSuccessSeq = true, 5 })),
			"connection=passed/impliedByLaterEvidence discovery=passed/observed"},
		{"4.4 connection: failed, theirs and reached", input(sess(refused)), "connection=failed/connectFailed break=connection category=setup run:connection.success=failed"},
		{"4.4 connection: failed without proof that it was reached", input(silentLauncher()), "connection=notMeasured/egressUnverified break= run:connection.success=undecided"},
		{"4.4 connection: failed, ours", input(unstarted), "connection=notMeasured/setupAborted break= category=setup"},
		{"4.4 connection: trace absent", input(&session.Session{}, absent), "connection=notMeasured/traceAbsent"},
		{"4.4 connection: nothing captured", input(&session.Session{}), "connection=notMeasured/noEvidenceCaptured"},
		{"0.1 connection: a later success wins", input(sess(ok, refused, result)), "connection=passed/impliedByLaterEvidence"},
		{"0.1 connection: the first success of the session-less era", input(sess(noInitialize, result)), "connection=passed/observed"},
		{"0.1 connection: an unsupported version without a later success", input(&session.Session{Connection: session.Connection{
			ReachedSeq: 2, Unsupported: &session.Exchange{Seq: 1, AnswerSeq: 2, Error: &session.RPCError{Code: -32022}}}}), "connection=failed/connectFailed"},
		{"0.1 connection: the recording begins in the middle", input(&session.Session{Connection: session.Connection{ReachedSeq: 2, BeganMidway: true}}), "connection=passed/impliedByLaterEvidence"},

		{"4.4 discovery: setup signal ok", input(sess(ok)), "discovery=passed/observed"},
		{"4.4 discovery: a call implies it", input(sess(result)), "discovery=passed/impliedByLaterEvidence"},
		{"4.4 discovery: failed signal, theirs", input(sess(lists(list(catalog.Failed)))), "discovery=failed/toolsListFailed category=setup run:discovery.toolsList=failed"},
		{"4.4 discovery: failed signal wins over tools of an earlier list", input(sess(ok, lists(list(catalog.Failed)), result), rowsOf(blank)),
			"discovery=failed/toolsListFailed run:discovery.toolsList=failed"},
		{"4.4 discovery: failed signal, ours or unknown", input(sess(lists(list(catalog.Open)))), "discovery=notMeasured/noEvidenceCaptured break="},
		{"4.4 discovery: a failing gating catalog check", input(good, rowsOf(blank)), "discovery=failed/predicateFailed category=setup call=passed/observed run:discovery.toolsList=undecided"},
		{"4.4 discovery: a failing gating catalog check", input(sess(ok), rowsOf(blank, uncalled)), "discovery=failed/predicateFailed selection=failed/missingToolCall"},
		{"4.4 discovery: advisory failures and error rows leave it", input(good, rowsOf(advisory(blank), row("toolNamesUnique", predicate.Discovery, predicate.Gating, predicate.Error))),
			"discovery=passed/observed category=evaluator"},
		{"4.4 discovery: trace absent", input(sess(), absent), "discovery=notMeasured/traceAbsent"},
		{"4.4 discovery: nothing captured", input(sess()), "discovery=notMeasured/noEvidenceCaptured"},
		{"0.1 discovery: the host stopped early", input(sess(lists(list(catalog.Partial, "t")))), "discovery=passed/observed"},
		{"0.1 discovery: a later list succeeds", input(sess(lists(list(catalog.Failed)), ok)), "discovery=passed/observed"},
		{"0.1 discovery: no tools declared", input(sess(noTools)), "discovery=notApplicable/notAuthored break="},

		{"0.2.10 selection: unknown tool on the wire", input(sess(ok, call("zz", session.CallResult)), prompts(missing)), "selection=failed/unknownTool break=selection category=selection"},
		{"0.2.10 selection: unknown tool of the host alone", input(good, func(in *Input) {
			in.Evidence.Calls = append(in.Evidence.Calls, predicate.CallEvidence{Tool: "zz", HostOnly: true, Index: -1})
		}), "selection=failed/unknownTool call=passed/observed"},
		{"0.2.10 selection: unknown tool of the host alone", input(sess(ok, lists(list(catalog.Partial)), result), func(in *Input) {
			in.Evidence.Calls = append(in.Evidence.Calls, predicate.CallEvidence{Tool: "zz", HostOnly: true, Index: -1})
		}), "selection=notMeasured/matchVerdictUnavailable"},
		{"4.4 selection: open, trace absent", input(sess(), absent), "selection=notMeasured/traceAbsent"},
		{"4.4 selection: open, with calls", input(good), "selection=notMeasured/matchVerdictUnavailable"},
		{"4.4 selection: open, nothing captured", input(sess(ok)), "selection=notMeasured/noEvidenceCaptured"},
		{"4.4 selection: missing calls in a turn", input(good, prompts(passedTurn, missing), rowsOf(called)), "selection=failed/missingToolCall category=selection call=passed/observed"},
		{"0.2.3 selection: calls out of order", input(good, prompts(Prompt{Expected: 1, OutOfOrder: []Mismatch{seen}}), rowsOf(called)), "selection=failed/callsOutOfOrder category=selection"},
		{"0.2.3 selection: calls out of order", input(good, prompts(Prompt{Expected: 2, OutOfOrder: []Mismatch{seen}, Missing: []Mismatch{lost}})), "selection=failed/missingToolCall"},
		{"4.4 selection: a failed check, toolCalledAtLeastOnce among them", input(good, rowsOf(called, uncalled)), "selection=failed/missingToolCall"},
		{"4.4 selection: a failed check of another kind", input(good, rowsOf(called, selected)), "selection=failed/unexpectedToolCall"},
		{"4.4 selection: unexpected calls in a failed turn", input(good, prompts(Prompt{Unexpected: []Mismatch{seen}})), "selection=failed/unexpectedToolCall"},
		{"4.4 selection: unexpected calls beside an argument mismatch", input(good, prompts(Prompt{Expected: 1, Unexpected: []Mismatch{seen}, Mismatched: []Mismatch{seen}})),
			"selection=passed/observed call=failed/argumentMismatch break=call category=arguments"},
		{"4.4 selection: unexpected calls in a turn that passed", input(good, prompts(Prompt{Expected: 1, Unexpected: []Mismatch{seen}, Passed: true})), "selection=passed/observed"},
		{"4.4 selection: the verdict of a turn is unknown", input(good, prompts(Prompt{Expected: 1})), "selection=notMeasured/matchVerdictUnavailable"},
		{"4.4 selection: the verdict of a turn is unknown", input(good, rowsOf(selected), func(in *Input) { in.Unmatched = true }), "selection=notMeasured/matchVerdictUnavailable"},
		{"4.4 selection: the verdict of a turn is unknown", input(good, rowsOf(with(selected, "toolNeverCalled")), func(in *Input) { in.Expects = true }), "selection=notMeasured/matchVerdictUnavailable"},
		{"4.4 selection: prompts recorded", input(good, prompts(passedTurn)), "selection=passed/observed"},
		{"4.4 selection: passing checks alone", input(good, rowsOf(selected)), "selection=passed/observed"},
		{"4.4 selection: a gating toolCalledWith is not read again", input(good, prompts(passedTurn), rowsOf(with(uncalled, "toolCalledWith"))), "selection=passed/observed"},
		{"4.4 selection: nothing matched", input(good, rowsOf(with(uncalled, "toolCalledWith"))), "selection=failed/missingToolCall"},
		{"4.4 selection: nothing matched", input(good, rowsOf(row("toolNeverCalled", predicate.Selection, predicate.Gating, predicate.Error))), "selection=notMeasured/evaluatorError category=evaluator"},
		{"0.2.7 selection: an undecided mismatch fails nothing", input(good, partial, prompts(Prompt{Expected: 1, Missing: []Mismatch{unknown}})), "selection=notMeasured/matchVerdictUnavailable break="},
		{"0.2.7 selection: an undecided mismatch fails nothing", input(good, partial, prompts(Prompt{Expected: 1, Passed: true, Unexpected: []Mismatch{unknown}})), "selection=notMeasured/matchVerdictUnavailable break="},
		{"0.2.7 selection: an undecided mismatch fails nothing", input(good, partial, prompts(Prompt{Expected: 2, OutOfOrder: []Mismatch{unknown}}, missing)), "selection=failed/missingToolCall"},
		{"0.1 selection: a negative case needs prompt, finished turn and complete calls", input(sess(ok), negative, talk, prompts(Prompt{Passed: true})), "selection=passed/observed call=passed/observed " + none},
		{"0.1 selection: a negative case needs prompt, finished turn and complete calls", input(sess(ok), negative, prompts(Prompt{Passed: true})), "selection=notMeasured/noEvidenceCaptured call=notMeasured/noEvidenceCaptured"},
		{"0.1 selection: a negative case needs prompt, finished turn and complete calls", input(sess(ok), negative, talk, func(in *Input) { talked(in, false) }, prompts(Prompt{Passed: true})), "selection=notMeasured/noEvidenceCaptured call=notMeasured/noEvidenceCaptured"},
		{"0.1 selection: a negative case needs prompt, finished turn and complete calls", input(sess(ok), negative, talk, partial, prompts(Prompt{Passed: true})), "selection=notMeasured/noEvidenceCaptured call=notMeasured/noEvidenceCaptured"},
		{"0.1 selection: a negative case needs prompt, finished turn and complete calls", input(good, negative, talk), "selection=notMeasured/matchVerdictUnavailable"},

		{"4.4 call: a failed check", input(sess(ok, protocol), rowsOf(badArgs)), "call=failed/argumentMismatch category=arguments"},
		{"4.4 call: argument mismatches", input(sess(ok, protocol), prompts(Prompt{Expected: 1, Mismatched: []Mismatch{seen}})), "selection=passed/observed call=failed/argumentMismatch category=arguments run:call.completed=undecided"},
		{"0.2.10 call: arguments against the tool's own schema, answered with isError", func() Input { in := input(sess(ok, toolError)); in.Evidence = evidence(in.Session, `{}`); return in }(),
			"call=failed/argumentMismatch response=failed/toolError break=call category=arguments"},
		{"4.4 call: a protocol error", input(sess(ok, result, protocol)), "call=failed/protocolError category=serverData run:call.completed=failed"},
		{"4.4 call: calls", input(good), "call=passed/observed"},
		{"4.4 call: calls", input(sess(ok, toolError)), "call=passed/observed"},
		{"4.4 call: a negative case with prompts", input(sess(ok), negative, talk, prompts(Prompt{Passed: true})), "call=passed/observed response=notMeasured/noEvidenceCaptured"},
		{"4.4 call: nothing captured", input(sess(ok)), "call=notMeasured/noEvidenceCaptured"},
		{"0.2.7 call: an undecided mismatch fails nothing", input(good, prompts(Prompt{Expected: 1, Mismatched: []Mismatch{unknown}})), "selection=passed/observed call=notMeasured/matchVerdictUnavailable break="},
		{"0.2.7 call: no pass where an error may be lost", input(good, partial), "call=notMeasured/noEvidenceCaptured run:call.completed=undecided"},

		{"4.4 response: a failed check, noToolErrors", input(sess(ok, toolError), rowsOf(with(slow, "noToolErrors"))), "response=failed/toolError run:response.returned=failed"},
		{"4.4 response: a failed check of another kind", input(sess(ok, toolError), rowsOf(slow)), "response=failed/predicateFailed category=serverData run:response.returned=undecided"},
		{"4.4 response: an observed tool failure", input(sess(ok, result, toolError)), "response=failed/toolError category=serverData run:response.returned=failed"},
		{"4.4 response: an observed tool failure", input(sess(ok, toolError), renders("rendered")), "response=failed/toolError"},
		{"4.4 response: render expected, no observation", input(good, renders()), "response=notMeasured/noEvidenceCaptured"},
		{"4.4 response: render expected, one failed", input(good, renders("rendered", "bridge_timeout")), "response=failed/renderFailed category=serverData run:response.returned=undecided"},
		{"4.4 response: render expected, all rendered", input(good, renders("rendered", "rendered")), "response=passed/observed"},
		{"4.4 response: render expected, all rendered", input(good, renders("rendered"), func(in *Input) { in.Evidence.Conversation.RenderState = session.Partial }), "response=notMeasured/noEvidenceCaptured"},
		{"4.4 response: ok calls", input(good), "response=passed/observed"},
		{"4.4 response: nothing captured", input(sess(ok, call("t", session.CallCancelled))), "response=notMeasured/noEvidenceCaptured"},
		{"4.4 response: an error row fails nothing", input(good, rowsOf(erring)), "response=passed/observed category=evaluator"},
		{"4.4 response: an error row fails nothing", input(sess(ok), rowsOf(erring)), "response=notMeasured/noEvidenceCaptured category=evaluator"},
		{"0.2.7 response: no pass where an error may be lost", input(good, partial), "response=notMeasured/noEvidenceCaptured run:response.returned=undecided"},
		{"0.2.7 response: no pass where an error may be lost", input(sess(ok, toolError), partial), "response=failed/toolError"},
		{"0.2.10 response: noToolErrors on protocol errors alone", input(sess(ok, protocol), rowsOf(func() Row {
			r := with(slow, "noToolErrors")
			r.Outcome.ProtocolOnly = true
			return r
		}())), "call=failed/protocolError response=notReached/earlierStageFailed"},

		{"4.4 userValue: the evaluator erred", input(good, rowsOf(unsaid, unheard)), "userValue=notMeasured/evaluatorError category=evaluator"},
		{"4.4 userValue: the evaluator erred", input(good, rowsOf(said, erring)), "userValue=passed/observed"},
		{"4.4 userValue: a row failed", input(good, rowsOf(said, unsaid)), "userValue=failed/predicateFailed category=userValue"},
		{"4.4 userValue: the rows passed", input(good, rowsOf(said)), "userValue=passed/observed"},
		{"4.4 userValue: trace absent", input(sess(), absent), "userValue=notMeasured/traceAbsent"},
		{"4.4 userValue: nothing captured", input(good, talk), "userValue=notMeasured/noEvidenceCaptured"},
		{"4.4 advisory rows feed nothing", input(good, rowsOf(advisory(blank), advisory(called), advisory(badArgs), advisory(slow), advisory(unsaid), advisory(unheard))),
			"discovery=passed/observed selection=notMeasured/matchVerdictUnavailable call=passed/observed response=passed/observed userValue=notMeasured/noEvidenceCaptured " + none},

		{"4.5.1 policy blocked", input(sess(ok, protocol), ending(Blocked), rowsOf(called)), "connection=notMeasured/blockedByPolicy selection=notMeasured/blockedByPolicy call=notMeasured/blockedByPolicy break="},
		{"4.5.2 cancelled", input(sess(ok, protocol), ending(Cancelled), rowsOf(called, unheard)), "connection=notMeasured/lifecycleStopped call=notMeasured/lifecycleStopped userValue=notMeasured/lifecycleStopped break= category=setup run:call.completed=undecided"},
		{"4.5.2 timed out", input(good, ending(TimedOut)), "connection=notMeasured/lifecycleStopped response=notMeasured/lifecycleStopped category=setup"},
		{"4.5.2 skipped", input(good, ending(NotRun)), "discovery=notMeasured/lifecycleStopped category=setup"},
		{"4.5.2 setup failed", input(good, ending(SetupFailed)), "connection=notMeasured/setupAborted userValue=notMeasured/setupAborted category=setup"},
		{"4.5.2 setup failed", input(unstarted, talk, prompts(missing), rowsOf(uncalled, unsaid)), "connection=notMeasured/setupAborted selection=notMeasured/setupAborted userValue=notMeasured/setupAborted break= category=setup"},
		{"4.5.2 a link that does not apply stays so", input(sess(noTools), ending(Cancelled)), "connection=notMeasured/lifecycleStopped discovery=notApplicable/notAuthored"},
		{"4.5.3 setup abort, connection failed", input(sess(refused), prompts(missing), rowsOf(uncalled)), "connection=failed/connectFailed discovery=notReached/earlierStageFailed selection=notReached/earlierStageFailed userValue=notReached/earlierStageFailed category=setup"},
		{"4.5.3 setup abort, listing failed", input(sess(lists(list(catalog.Failed))), prompts(missing), rowsOf(uncalled)), "connection=passed/observed discovery=failed/toolsListFailed selection=notReached/earlierStageFailed category=setup"},
		{"4.5.3 setup abort, neither failed", input(silentLauncher(), prompts(missing), rowsOf(uncalled)), "connection=notMeasured/egressUnverified selection=notMeasured/setupAborted userValue=notMeasured/setupAborted break= category=setup"},
		{"4.5.3 no setup abort with a turn on record", input(sess(refused), talk, prompts(missing)), "connection=failed/connectFailed selection=failed/missingToolCall break=connection"},
		{"4.5.4 all six are derived", input(good, prompts(passedTurn), rowsOf(said)), "connection=passed/observed discovery=passed/observed selection=passed/observed call=passed/observed response=passed/observed userValue=passed/observed " + none},
		{"4.5.5 provider error fills blank rows", input(sess(ok), provider), "discovery=passed/observed selection=notMeasured/providerError call=notMeasured/providerError response=notMeasured/providerError userValue=notMeasured/providerError category=setup"},
		{"4.5.5 provider error fills blank rows", input(sess(), absent, provider), "call=notMeasured/providerError"},
		{"4.5.5 provider error withdraws a failure that rests on absence", input(sess(ok), talk, provider, prompts(missing), rowsOf(unsaid)), "selection=notMeasured/providerError userValue=notMeasured/providerError break= category=setup"},
		{"4.5.5 provider error leaves what was seen", input(sess(ok, toolError), provider, rowsOf(called)), "selection=failed/unexpectedToolCall response=failed/toolError category=selection"},
		{"4.5.5 provider error leaves what was seen", input(good, provider, rowsOf(unheard), func(in *Input) { in.Rows = append(in.Rows, selected) }), "selection=passed/observed userValue=notMeasured/evaluatorError category=evaluator"},
		{"4.5.5 before the cascade", input(good, provider, prompts(missing)), "selection=notMeasured/providerError userValue=notMeasured/providerError break="},

		{"4.5.6 first break is the first failed row", input(sess(ok, toolError), rowsOf(unsaid, called)), "break=selection response=failed/toolError userValue=failed/predicateFailed"},
		{"4.5.6 only unmeasured rows become notReached", input(sess(ok), rowsOf(called)), "connection=passed/observed selection=failed/unexpectedToolCall call=notReached/earlierStageFailed response=notReached/earlierStageFailed"},
		{"4.5.6 a measured row keeps its verdict", input(good, rowsOf(called, unsaid)), "call=passed/observed response=passed/observed userValue=failed/predicateFailed break=selection"},
		{"4.5.6 notApplicable stays", input(sess(noTools, refused)), "connection=failed/connectFailed discovery=notApplicable/notAuthored"},
		{"4.5.7 category of connection and discovery", input(sess(refused)), "break=connection category=setup"},
		{"4.5.7 category of connection and discovery", input(good, rowsOf(blank)), "break=discovery category=setup"},
		{"4.5.7 category of selection", input(good, rowsOf(called)), "break=selection category=selection"},
		{"4.5.7 category of call, arguments", input(good, rowsOf(badArgs)), "break=call category=arguments"},
		{"4.5.7 category of call, server", input(sess(ok, protocol, code(-32603))), "break=call category=serverData"},
		{"0.2.10 category of -32602 for wrong arguments", func() Input {
			in := input(sess(ok, protocol, code(predicate.CodeInvalidParams)))
			in.Evidence = evidence(in.Session, `{}`)
			return in
		}(), "call=failed/protocolError category=arguments"},
		{"4.5.7 category of response", input(sess(ok, toolError)), "break=response category=serverData"},
		{"4.5.7 category of userValue", input(good, rowsOf(unsaid)), "break=userValue category=userValue"},
		{"4.5.7 no failed link, the evaluator erred", input(good, rowsOf(erring)), "break= category=evaluator"},
		{"4.5.7 no failed link, provider error", input(good, provider), "break= category=setup"},
		{"4.5.7 no failed link", input(good), none},

		{"4.6 runner check passes with its link", input(good), "run:connection.success=passed run:discovery.toolsList=passed run:call.completed=passed run:response.returned=passed"},
		{"4.6 runner check fails for the runner's own reason", input(sess(ok, toolError, protocol)), "run:call.completed=failed run:response.returned=failed"},
		{"4.6 runner check is undecided for an evaluator's reason", input(good, rowsOf(blank, badArgs, slow)), "run:discovery.toolsList=undecided run:call.completed=undecided run:response.returned=undecided"},
		{"4.6 runner check is not shown when the link does not apply", input(sess(noTools)), "run:discovery.toolsList= run:connection.success=passed"},
	}

	named := map[string]bool{}
	for i, c := range rows {
		named[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			r := Analyze(c.in)
			consistent(t, &r)
			for _, want := range strings.Fields(c.want) {
				what, value, _ := strings.Cut(want, "=")
				if got := get(t, &r, what); got != value {
					t.Errorf("row %d: %s is %q, want %q: %s", i, what, got, value, summary(r))
				}
			}
		})
	}
	for _, r := range rules {
		if named[r.id] == (r.unreachable != "") {
			t.Errorf("rule %q: a row: %v; unreachable: %q", r.id, named[r.id], r.unreachable)
		}
		delete(named, r.id)
	}
	for rule := range named {
		t.Errorf("a row names %q, which is no rule", rule)
	}
}

func get(t *testing.T, r *Result, what string) string {
	switch what {
	case "break":
		return string(r.FirstBreak)
	case "category":
		return string(r.Category)
	}
	if id, ok := strings.CutPrefix(what, "run:"); ok {
		i := slices.IndexFunc(r.Runner, func(c RunnerCheck) bool { return c.ID == id })
		if i < 0 {
			return ""
		}
		return string(r.Runner[i].State)
	}
	l := linkOf(r, predicate.Link(what))
	if l == nil {
		t.Fatalf("no link %s", what)
	}
	return string(l.State) + "/" + string(l.Reason)
}

// consistent checks what holds for every result: six links in order, the first
// break is the first failed one, and nothing before it or measured after it was
// marked as not reached (4.5.6).
func consistent(t *testing.T, r *Result) {
	t.Helper()
	var first predicate.Link
	for i, l := range r.Links {
		if l.Link != Order[i] {
			t.Errorf("link %d is %s", i, l.Link)
		}
		if l.State == NotReached && (first == "" || l.Reason != EarlierStageFailed) {
			t.Errorf("%s is notReached (%s) after %q", l.Link, l.Reason, first)
		}
		if l.State == NotMeasured && first != "" {
			t.Errorf("%s is notMeasured after %s failed", l.Link, first)
		}
		if l.State == Failed && first == "" {
			first = l.Link
		}
		if l.Evidence.Text == "" || len(l.Evidence.Records) > maxRecords || len(l.Evidence.Turns) > maxTurns {
			t.Errorf("%s: evidence %+v", l.Link, l.Evidence)
		}
	}
	if r.FirstBreak != first {
		t.Errorf("first break %q, the first failed link is %q", r.FirstBreak, first)
	}
	if first != "" && r.Category == NoCategory {
		t.Error("a break without a category")
	}
	for _, c := range r.Runner {
		l := linkOf(r, c.Link)
		if c.Expected == "" || c.Actual == "" || (c.State == CheckPassed) != (l.State == Passed) || c.State == CheckFailed && l.State != Failed {
			t.Errorf("runner check %+v of a link %s/%s", c, l.State, l.Reason)
		}
	}
}
