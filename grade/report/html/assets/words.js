// The words of verdicts, links, states and reasons.

const LINKS = ["connection", "discovery", "selection", "call", "response", "userValue"];
const LINK_TITLE = { connection: "connection", discovery: "discovery", selection: "selection", call: "call", response: "response", userValue: "user value" };

const LETTER_STATE = { p: "passed", f: "failed", r: "notReached", m: "notMeasured", a: "notApplicable" };
const STATE_LETTER = { passed: "p", failed: "f", notReached: "r", notMeasured: "m", notApplicable: "a" };
const STATE_WORD = { passed: "passed", failed: "failed", notReached: "not reached", notMeasured: "not measured", notApplicable: "not applicable" };
const STATE_MARK = { passed: "✓", failed: "✕", notReached: "–", notMeasured: "?", notApplicable: "·" };

const WORD_MARK = { passed: "✓", pass: "✓", failed: "✕", fail: "✕", inconclusive: "?", error: "?", cancelled: "◌", undecided: "?" };

// What the reasons of links and of cases say (grading.md 4.1, 5.3).
const REASON = {
  observed: "seen on the wire",
  impliedByLaterEvidence: "implied by what came later",
  noEvidenceCaptured: "nothing on record can decide it",
  traceAbsent: "the calls were not recorded",
  matchVerdictUnavailable: "no check says which calls were right",
  egressUnverified: "not certain that it left",
  setupAborted: "the session never got that far",
  authRequired: "the server wanted authorization",
  lifecycleStopped: "the trial was stopped",
  blockedByPolicy: "a policy of the host forbade it",
  evaluatorError: "a check could not be evaluated",
  providerError: "the model's provider failed",
  notAuthored: "nobody asks for it",
  earlierStageFailed: "an earlier link failed",
  connectFailed: "the server was not reached",
  toolsListFailed: "the list of tools failed",
  missingToolCall: "an expected call was not made",
  unexpectedToolCall: "a call was made that should not have been",
  callsOutOfOrder: "calls in the wrong order",
  unknownTool: "a tool that the catalog does not have",
  argumentMismatch: "other arguments than expected",
  toolError: "the server reported a tool error",
  protocolError: "the server answered with a protocol error",
  renderFailed: "a widget was not shown",
  predicateFailed: "a check failed",
  caseHasNoEligibleTrials: "no trial could be decided",
  casePassRateBelowThreshold: "passed less often than the threshold wants",
  casePassRateMetThreshold: "passed as often as the threshold wants",
  erroredTrialsCouldChangeTheVerdict: "undecided trials could change the verdict",
  caseHasNoTrial: "no trial",
};

function reasonText(code) { return REASON[code] || code; }

const CLASS_WORD = { missing: "Missing", extra: "Extra", outOfOrder: "Out of order", arguments: "Other arguments" };
const CATEGORY_WORD = { setup: "setup", selection: "selection", arguments: "arguments", serverData: "server data", userValue: "user value", evaluator: "evaluator" };

const CALL_WORD = {
  result: "result", toolError: "tool error", protocolError: "protocol error", malformed: "malformed answer",
  inputRequired: "waits for input", taskHandle: "task, result not on record", cancelled: "cancelled",
  clientTimeout: "timed out at the host", neverAnswered: "never answered", connectionDrop: "the server ended first",
  clientGone: "the host left first", undelivered: "never delivered", notMeasured: "cut by the recording", noID: "sent without an id",
};

// trialWord is a trial's word in lists: cancelled is one of its own there.
function trialWord(t) { return t.z ? "cancelled" : (t.w || (t.b >= 0 ? "failed" : "passed")); }

const OVERRIDE_WORD = { argumentMatching: "argument matching", toolCallOrder: "order of calls", maxExtraToolCalls: "extra calls allowed", passThreshold: "pass threshold" };
