package predicate

import (
	"fmt"
	"strconv"

	"github.com/sixlink/sixlink/record/session"
)

var toolLatencyUnder = &Kind{
	Name:  "toolLatencyUnder",
	Title: "Every call was answered fast enough",
	Text: `Compares the slowest answer with ms; exactly ms fails. A duration is the answer's time minus the
request's, minus the time that the server waited for the client inside the call (elicitation, sampling,
roots, input rounds); the reason shows both figures. A call that was cancelled after ms or more fails
too; one cancelled earlier says nothing and is left out. A call without an answer is an error, unless
another one is slow enough to fail.`,
	Example: `{type: toolLatencyUnder, ms: 2000, toolName: search}`,
	Since:   1,
	Fields: []Field{
		// The upper bound keeps milliseconds in nanoseconds within 64 bits: 31 years.
		{Name: "ms", Type: WholeNum, Required: true, Min: 1, Max: 1e12, Text: "The limit in milliseconds; a duration must be below it."},
		toolNameField,
	},
	Channels: []Channel{ToolCalls, ToolCallTimings},
	Notes:    []string{wireNote, "Without a call there is nothing to time, which passes; toolCalledAtLeastOnce says that there must be one."},
	Evaluate: evalLatency,
}

func evalLatency(c *Check, ev *Evidence) Outcome {
	ms, ok := c.Int("ms")
	if !ok || ms <= 0 {
		return Outcome{Result: Fail, Reason: "ms is no positive whole number"}
	}
	name, named := c.Text("toolName")
	limit := ms * 1e6
	o := Outcome{Expected: "every call under " + strconv.FormatInt(ms, 10) + " ms"}

	// Cancelled calls are complete observations: they owe no timing, and one that
	// was given up after the limit proves that it was not met (grading.md 0.1).
	owed := 0
	for i := range ev.Calls {
		call := &ev.Calls[i]
		if call.HostOnly || named && call.Tool != name {
			continue
		}
		if !call.Cancelled {
			owed++
			continue
		}
		if call.CancelledAfterNs >= limit {
			o.Result = Fail
			o.Actual = "cancelled after " + millis(call.CancelledAfterNs)
			o.Reason = fmt.Sprintf("%s (record %s) was cancelled after %s, not under %d ms", tool(call.Tool), call.ID(), millis(call.CancelledAfterNs), ms)
			o.cite(call.Seq)
			return o
		}
	}
	var slowest *Timing
	timed := 0
	for i := range ev.Timings {
		t := &ev.Timings[i]
		if named && t.Tool != name {
			continue
		}
		timed++
		if slowest == nil || t.Ns > slowest.Ns {
			slowest = t
		}
	}
	complete := ev.State(ToolCallTimings) == session.Complete
	if slowest == nil {
		switch {
		case !complete:
			return errorOutcome("no call was timed, and timings are %s", ev.State(ToolCallTimings))
		case owed > 0:
			return errorOutcome("%s without a timing", count(owed, "call"))
		}
		o.Result = Pass
		o.Actual = "no call to time"
		o.Reason = "no call to time"
		return o
	}
	o.cite(slowest.Seq)
	o.Actual = millis(slowest.Ns)
	took := tool(slowest.Tool) + " (record " + callID(slowest.Seq, slowest.Index) + ") took " + millis(slowest.Ns)
	if slowest.WaitedNs > 0 {
		took += fmt.Sprintf(" without the %s that the server waited for the client (%s in all)", millis(slowest.WaitedNs), millis(slowest.Ns+slowest.WaitedNs))
	}
	switch {
	case slowest.Ns >= limit:
		o.Result = Fail
		o.Reason = fmt.Sprintf("%s, not under %d ms", took, ms)
	case timed < owed:
		o.Result = Error
		o.Reason = fmt.Sprintf("%d of %s has no timing; the slowest of the others: %s", owed-timed, count(owed, "call"), took)
	default:
		o.Result = Pass
		o.Reason = "the slowest of " + count(timed, "call") + ": " + took
	}
	return o
}

// millis writes a duration in milliseconds, exact to the microsecond.
func millis(ns int64) string {
	us := ns / 1000
	if us%1000 == 0 {
		return strconv.FormatInt(us/1000, 10) + " ms"
	}
	return fmt.Sprintf("%d.%03d ms", us/1000, us%1000)
}
